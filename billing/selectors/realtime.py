"""Reads of realtime requests that were settled."""

from dataclasses import dataclass
from uuid import UUID

from billing.models import UsageRecord


@dataclass(frozen=True, slots=True)
class Bill:
    """What one request used and cost; `status` is how it ended (billing.requests.Status)."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    amount_nano: int
    status: str | None


def bill(organization_id: UUID, request_id: str) -> Bill | None:
    """The bill of a request by the id its answer named; None before its settlement, and for another organization's."""
    found = UsageRecord.objects.filter(source=f"req:{request_id}", organization_id=organization_id).first()
    if found is None:
        return None
    return Bill(found.input_tokens, found.cached_tokens, found.output_tokens, found.amount_nano, found.status)
