"""Reads of realtime requests that were settled."""

from dataclasses import dataclass
from uuid import UUID

from anex.core.errors import NotFound
from billing.models import Hold, UsageRecord


@dataclass(frozen=True, slots=True)
class Bill:
    """What one request used and cost; `status` is how it ended (billing.requests.Status)."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    amount_nano: int
    status: str | None


def bill(organization_id: UUID, request_id: str) -> Bill | None:
    """The bill of a request by the id its answer named; None before its settlement.

    NotFound (404) for one that never was, or was another organization's.
    """
    source = f"req:{request_id}"
    found = UsageRecord.objects.filter(source=source, organization_id=organization_id).first()
    if found is not None:
        return Bill(found.input_tokens, found.cached_tokens, found.output_tokens, found.amount_nano, found.status)
    if not Hold.objects.filter(source=source, account__organization_id=organization_id).exists():
        raise NotFound("There is no such request.")
    return None
