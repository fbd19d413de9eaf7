"""Reads of single realtime requests: what became of them and what they cost, without a word of what they said."""

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from billing import request_keys
from billing.models import Hold, RequestKey, UsageRecord


@dataclass(frozen=True, slots=True)
class Turn:
    """One request. Until it is settled `status` and what comes last are None."""

    id: str
    surface: str
    model: str
    began_at: datetime
    status: str | None = None
    ended_at: datetime | None = None
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    charged_nano: int = 0
    duration_ms: int | None = None


def find(organization_id: UUID, turn_id: str) -> Turn | None:
    """The request with an id, None where the organization has none."""
    return _of(organization_id, _PREFIX + turn_id) if _ID.fullmatch(turn_id) else None


def find_by_key(organization_id: UUID, key: str) -> Turn | None:
    """The chat request that an idempotency key stands for."""
    digest = bytes.fromhex(request_keys.digest(request_keys.fold(key), "chat"))
    named = RequestKey.objects.filter(organization_id=organization_id, digest=digest).first()
    return _of(organization_id, named.source) if named else None


_PREFIX = "req:"
_ID = re.compile(r"[0-9a-f]{32}")


def _of(organization_id: UUID, source: str) -> Turn | None:
    hold = Hold.objects.filter(source=source, account__organization_id=organization_id).first()
    if hold is None:
        return None
    turn_id = source.removeprefix(_PREFIX)
    record = UsageRecord.objects.filter(source=source).first() if hold.settled_at else None
    if record is None:
        return Turn(turn_id, hold.surface or "", hold.model_id or "", hold.placed_at)
    return Turn(
        turn_id,
        record.surface,
        record.model_id,
        hold.placed_at,
        record.status,
        hold.settled_at,
        record.input_tokens,
        record.cached_tokens,
        record.output_tokens,
        record.amount_nano,
        record.duration_ms,
    )
