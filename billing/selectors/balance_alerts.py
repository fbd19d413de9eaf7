"""Reads of when an organization is told that its balance is low."""

from uuid import UUID

from billing.models import BalanceAlert


def threshold_cents(organization_id: UUID) -> int | None:
    """Below what it is told; None for never."""
    return (
        BalanceAlert.objects.filter(organization_id=organization_id).values_list("threshold_cents", flat=True).first()
    )
