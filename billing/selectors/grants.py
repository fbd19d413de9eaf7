"""Reads of grants that expire."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from billing.models import Grant


@dataclass(frozen=True, slots=True)
class Ending:
    """A grant whose unspent rest is taken back at `expires_at`."""

    amount_nano: int
    expires_at: datetime


def ending(organization_id: UUID) -> list[Ending]:
    """The organization's grants that will expire, the soonest first."""
    rows = Grant.objects.filter(account__organization_id=organization_id, expired_at=None).order_by("expires_at", "id")
    return [Ending(*row) for row in rows.values_list("amount_nano", "expires_at")]
