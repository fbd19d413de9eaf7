"""Credits bought: a payment page is opened, and what comes of it is booked when the gateway says so."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, Unavailable
from anex.core.money import cents_to_nano, format_dollars
from billing import gateways
from billing.gateways.interface import Declined, Gateway, GatewayAway, Order
from billing.models import Topup
from billing.selectors import topups
from billing.services import failed_topups, payment_events

MIN_CENTS = 500
MAX_CENTS = 1_000_000
# Longer than a payment page stays open.
STALE = timedelta(hours=25)


def start(*, organization_id: UUID, topup_id: UUID, cents: int, save_method: bool, actor: Actor) -> str:
    """The address of the page where `cents` are paid; the same id again is the same page.

    InvalidRequest for an amount out of range, Conflict for an id that was used for something else, Unavailable
    where no payments are taken or the gateway does not answer.
    """
    gateway = _gateway()
    check_amount(cents)
    with transaction.atomic():
        topup, is_new = Topup.objects.get_or_create(
            pk=topup_id,
            defaults={
                "organization_id": organization_id,
                "gateway": gateway.name,
                "cents": cents,
                "saves_method": save_method,
                "created_by": str(actor),
            },
        )
        if is_new:
            audit.record(
                organization_id=organization_id,
                actor=actor,
                action="credits.topup",
                target=str(topup_id),
                details={"cents": cents},
            )
    if (topup.organization_id, topup.cents, topup.state) != (organization_id, cents, Topup.State.OPEN):
        raise Conflict("This form was sent before. Open the page again to add more credits.")
    checkout = gateway.open_checkout(order(topup))
    Topup.objects.filter(pk=topup_id).update(checkout_ref=checkout.ref)
    return checkout.url


def confirm(*, organization_id: UUID, topup_id: UUID) -> Topup:
    """The top-up as it is after asking the gateway; NotFound for an unknown or foreign id.

    The gateway's event may come before, after or at the same moment. One that does not answer changes nothing.
    """
    topup = topups.get(organization_id, topup_id)
    gateway = gateways.named(topup.gateway)
    if topup.state == Topup.State.OPEN and topup.checkout_ref and gateway:
        try:
            event = gateway.look_up(topup.checkout_ref)
        except (GatewayAway, Declined):
            return topup
        if event:
            payment_events.apply(gateway.name, event)
            topup.refresh_from_db()
    return topup


def refund(*, topup_id: UUID, cents: int, reason: str, key: UUID, actor: Actor) -> bool:
    """Send money of a paid top-up back through its gateway; the credits go with it, below zero if they must.

    False, and no change, for a key that was used before. InvalidRequest without a reason or for more than was paid,
    Conflict where the gateway refuses, Unavailable where it does not answer.
    """
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the audit record.", param="reason")
    topup = Topup.objects.get(pk=topup_id)
    gateway = gateways.named(topup.gateway)
    if topup.state != Topup.State.PAID or gateway is None:
        raise Conflict("Only a payment that was made through the present gateway can be refunded.")
    if not 1 <= cents <= topup.cents:
        raise InvalidRequest("The refund must be more than zero and at most what was paid.", param="dollars")
    event = gateway.refund(topup.payment_ref, cents=cents, key=key)
    with transaction.atomic():
        is_new = payment_events.apply(gateway.name, event)
        if is_new:
            audit.record(
                organization_id=topup.organization_id,
                actor=actor,
                action="credits.payment_refund",
                target=str(topup_id),
                reason=reason,
                details={"cents": cents},
            )
    return is_new


def close_stale(now: datetime) -> int:
    """Ask about payment pages that must be over by `now` and whose event never came; answers how many were closed."""
    closed = 0
    stale = Topup.objects.filter(state=Topup.State.OPEN, automatic=False, created_at__lte=now - STALE)
    for topup in stale.iterator():
        if topup.checkout_ref:
            confirm(organization_id=topup.organization_id, topup_id=topup.pk)
        closed += failed_topups.close(topup.pk, gateway=topup.gateway, failure="The payment was not made in time.")
    return closed


def check_amount(cents: int) -> None:
    """Raise InvalidRequest unless the amount can be paid at once."""
    if not MIN_CENTS <= cents <= MAX_CENTS:
        least, most = (format_dollars(cents_to_nano(bound)) for bound in (MIN_CENTS, MAX_CENTS))
        raise InvalidRequest(f"Choose an amount from {least} to {most}.", param="dollars")


def order(topup: Topup) -> Order:
    """What a gateway needs to know of a top-up."""
    base = settings.ANEX_PUBLIC_URL.rstrip("/")
    return Order(
        topup_id=topup.pk,
        organization_id=topup.organization_id,
        cents=topup.cents,
        return_url=base + reverse("topup", args=[topup.pk]),
        cancel_url=base + reverse("credits_add"),
        save_method=topup.saves_method,
    )


def _gateway() -> Gateway:
    gateway = gateways.configured()
    if gateway is None:
        raise Unavailable("This installation takes no payments online. Ask the people who run it to add credits.")
    return gateway
