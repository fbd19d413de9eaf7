"""What gateways report, applied to the ledger once: in any order, any number of times, however late.

Everything about one payment happens under one lock. Lock order: payment → top-up → account. A refund or dispute
that arrives before its payment waits in its row until the payment is known.
"""

import logging
from uuid import UUID

from django.db import connection, transaction

from accounts.models import Organization
from accounts.services import organizations
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import Conflict
from anex.core.money import cents_to_nano
from billing.gateways.interface import Event
from billing.models import AutoTopup, PaymentEvent, Topup, Transfer
from billing.selectors import balances
from billing.services import failed_topups, verbs

log = logging.getLogger(__name__)

_ACTOR = system("payments")


@transaction.atomic
def apply(gateway: str, event: Event) -> bool:
    """Book what the event says; False, and no change, for an event that was applied before."""
    _lock(f"{gateway}:{event.payment or event.topup_id}")
    _, is_new = PaymentEvent.objects.get_or_create(
        gateway=gateway,
        event_id=event.id,
        defaults={
            "kind": event.kind,
            "payment_ref": event.payment,
            "cause": event.cause,
            "about": event.about,
            "cents": event.cents,
        },
    )
    if not is_new:
        return False
    if event.kind == "paid" and event.topup_id:
        _book_payment(gateway, event, event.topup_id)
    elif event.kind == "unpaid" and event.topup_id:
        failed_topups.close(event.topup_id, gateway=gateway, failure="The payment was not made.")
    if event.payment:
        _book_reversals(gateway, event.payment)
    return True


def _lock(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"billing.payment:{name}"])


def _book_payment(gateway: str, event: Event, topup_id: UUID) -> None:
    topup = Topup.objects.select_for_update().filter(pk=topup_id, gateway=gateway).first()
    if topup is None:
        log.error("%s reports %s paid for a top-up that does not exist", gateway, event.payment)
        return
    if event.cents != topup.cents:
        log.error("top-up %s: %d cents were asked for and %d paid", topup.pk, topup.cents, event.cents)
    if topup.state != Topup.State.PAID:
        verbs.call(
            *("billing_transfer_v1", f"topup:{topup.pk}", topup.organization_id, "payments"),
            *(cents_to_nano(min(event.cents, topup.cents)), Transfer.Kind.PAYMENT, topup.created_by, ""),
        )
        topup.state, topup.payment_ref, topup.paid_at, topup.failure = Topup.State.PAID, event.payment, clock.now(), ""
        topup.save(update_fields=["state", "payment_ref", "paid_at", "failure"])
    if topup.saves_method and event.method:
        AutoTopup.objects.update_or_create(
            organization_id=topup.organization_id,
            defaults={
                "gateway": gateway,
                "customer_ref": event.customer,
                "method_ref": event.method,
                "saved_at": clock.now(),
                "failure": "",
            },
        )


def _book_reversals(gateway: str, payment: str) -> None:
    """Bring the lines of a payment's refunds and disputes to what its events say, once the payment is known."""
    topup = Topup.objects.filter(gateway=gateway, payment_ref=payment).first()
    if topup is None:
        return
    events = PaymentEvent.objects.filter(gateway=gateway, payment_ref=payment).exclude(about="").order_by("pk")
    restored = {event.about for event in events if event.kind == "restored"}
    for event in events:
        source = f"{gateway}:{event.about}"
        if event.kind == "taken" and event.about not in restored:
            _move(topup.organization_id, source, -event.cents, event.cause)
        if event.kind == "restored" and Transfer.objects.filter(source=source).exists():
            _move(topup.organization_id, f"{source}:restored", event.cents, event.cause)


def _move(organization_id: UUID, source: str, cents: int, cause: str) -> None:
    platform, kind = (
        ("disputes", Transfer.Kind.DISPUTE) if cause == "dispute" else ("payments", Transfer.Kind.PAYMENT_REFUND)
    )
    outcome, _ = verbs.call(
        *("billing_transfer_v1", source, organization_id, platform, cents_to_nano(cents), kind, str(_ACTOR), "")
    )
    balance = balances.get(organization_id)
    if outcome == "moved" and cause == "dispute" and balance.balance_nano + balance.credit_limit_nano < 0:
        _suspend(organization_id)


def _suspend(organization_id: UUID) -> None:
    if Organization.objects.filter(pk=organization_id, suspended_at=None).exists():
        try:
            organizations.suspend(
                organization_id=organization_id, actor=_ACTOR, reason="A disputed payment left a negative balance."
            )
        except Conflict:
            log.info("organization %s was suspended by somebody else meanwhile", organization_id)
