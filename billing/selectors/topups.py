"""Reads of payments, each within one organization."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Sum

from anex.core.errors import NotFound
from billing.models import AutoTopup, PaymentEvent, Topup, Transfer


@dataclass(frozen=True, slots=True)
class Receipt:
    """A payment that was made, and what went back of it since, as ledger lines."""

    topup: Topup
    paid_nano: int
    reversals: list[Transfer]
    reversed_nano: int


def get(organization_id: UUID, topup_id: UUID) -> Topup:
    """One top-up; NotFound for an unknown or foreign id."""
    topup = Topup.objects.filter(pk=topup_id, organization_id=organization_id).first()
    if topup is None:
        raise NotFound("There is no such payment.")
    return topup


def receipt(organization_id: UUID, topup_id: UUID) -> Receipt:
    """The receipt of a paid top-up; NotFound for any other id, and before it is paid."""
    topup = get(organization_id, topup_id)
    if topup.state != Topup.State.PAID:
        raise NotFound("There is no receipt of this payment.")
    events = PaymentEvent.objects.filter(gateway=topup.gateway, payment_ref=topup.payment_ref).exclude(about="")
    abouts = set(events.values_list("about", flat=True))
    sources = [f"{topup.gateway}:{about}{tail}" for about in abouts for tail in ("", ":restored")]
    lines = list(Transfer.objects.filter(source__in=sources).select_related("credit").order_by("id"))
    back = sum(-line.amount_nano if line.credit.organization_id else line.amount_nano for line in lines)
    return Receipt(topup, Transfer.objects.get(source=f"topup:{topup.pk}").amount_nano, lines, back)


def recent(organization_id: UUID, limit: int) -> list[Topup]:
    """The newest payments that were asked for, whatever became of them."""
    return list(Topup.objects.filter(organization_id=organization_id).order_by("-created_at")[:limit])


def automatic_since(organization_id: UUID, moment: datetime) -> int:
    """What automatic top-ups since then cost, in cents; one under way counts."""
    made = Topup.objects.filter(organization_id=organization_id, automatic=True, created_at__gte=moment)
    cents: int = made.exclude(state=Topup.State.FAILED).aggregate(sum=Sum("cents", default=0))["sum"]
    return cents


def auto(organization_id: UUID) -> AutoTopup | None:
    """The saved payment method and the rule for charging it; None where no method is saved."""
    return AutoTopup.objects.filter(organization_id=organization_id).first()
