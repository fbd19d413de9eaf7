"""Our own payment page: no money moves. For development, demonstrations and tests; off in production unless allowed.

It behaves like a real gateway: a page that is paid or declined, signed events, saved payment methods.
"""

import hmac
import json
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.crypto import salted_hmac

from anex.core import clock
from billing.gateways.interface import Checkout, Declined, Event, InvalidSignature, Order
from billing.models import LocalPayment

TOLERANCE_S = 300
# A saved payment method that is refused when it is charged.
DECLINING = "local-declining"


class Local:
    """Keeps its payments in a table of its own."""

    name = "local"

    def open_checkout(self, order: Order) -> Checkout:
        """Our page for the order."""
        LocalPayment.objects.get_or_create(
            id=order.topup_id, defaults={"cents": order.cents, "saves_method": order.save_method}
        )
        path = reverse("local_payment", args=[order.topup_id])
        return Checkout(ref=str(order.topup_id), url=f"{settings.ANEX_PUBLIC_URL.rstrip('/')}{path}")

    def look_up(self, checkout_ref: str) -> Event | None:
        """What the person on the page decided."""
        payment = LocalPayment.objects.get(pk=checkout_ref)
        return None if payment.state == LocalPayment.State.OPEN else _outcome(payment)

    def charge_saved(self, order: Order, *, customer: str, method: str) -> Event:
        """Paid at once, unless the method is the declining one."""
        if method == DECLINING:
            raise Declined("The card was declined.")
        payment, _ = LocalPayment.objects.get_or_create(
            id=order.topup_id, defaults={"cents": order.cents, "state": LocalPayment.State.PAID}
        )
        return _outcome(payment)

    @transaction.atomic
    def refund(self, payment: str, *, cents: int, key: UUID) -> Event:
        """Noted on the payment; at most what was paid."""
        row = LocalPayment.objects.select_for_update().get(pk=payment.removeprefix("lp_"))
        if str(key) not in row.refunds:
            if sum(row.refunds.values()) + cents > row.cents:
                raise Declined("The refunds would be more than the payment.")
            row.refunds[str(key)] = cents
            row.save(update_fields=["refunds"])
        return Event(f"lr_{key}", "taken", payment=payment, cents=cents, cause="refund", about=f"lr_{key}")

    def read_event(self, body: bytes, signature: str) -> Event | None:
        """Checks `t=…,v1=…`, an HMAC over time and body."""
        stamp, _, digest = signature.partition(",v1=")
        try:
            signed_at = int(stamp.removeprefix("t="))
            known = hmac.compare_digest(digest, _digest(signed_at, body))
            fresh = abs(clock.now().timestamp() - signed_at) <= TOLERANCE_S
        except (ValueError, TypeError) as error:
            raise InvalidSignature("The signature cannot be read.") from error
        if not (known and fresh):
            raise InvalidSignature("The signature is wrong or too old.")
        fields: dict[str, Any] = json.loads(body)
        topup_id = fields.pop("topup_id", None)
        return Event(**fields, topup_id=UUID(topup_id) if topup_id else None)


def decide(topup_id: UUID, *, paid: bool, declines_later: bool = False) -> tuple[bytes, str]:
    """What the page's buttons do: the signed event of a payment that was paid or declined, the first time for good.

    A method that is saved is refused whenever it is charged, if `declines_later`.
    """
    state = LocalPayment.State.PAID if paid else LocalPayment.State.DECLINED
    undecided = LocalPayment.objects.filter(pk=topup_id, state=LocalPayment.State.OPEN)
    undecided.update(state=state, declines_later=declines_later)
    return sign(_outcome(LocalPayment.objects.get(pk=topup_id)))


def sign(event: Event) -> tuple[bytes, str]:
    """An event as the raw body and the signature header of a webhook."""
    fields = {name: getattr(event, name) for name in Event.__slots__} | {"topup_id": str(event.topup_id or "")}
    body = json.dumps(fields).encode()
    now = int(clock.now().timestamp())
    return body, f"t={now},v1={_digest(now, body)}"


def _digest(signed_at: int, body: bytes) -> str:
    return salted_hmac("billing.gateways.local", b"%d." % signed_at + body, algorithm="sha256").hexdigest()


def _outcome(payment: LocalPayment) -> Event:
    if payment.state == LocalPayment.State.DECLINED:
        return Event(f"le_{payment.pk}_declined", "unpaid", topup_id=payment.pk)
    customer = "local" if payment.saves_method else ""
    return Event(
        f"le_{payment.pk}_paid",
        "paid",
        payment=f"lp_{payment.pk}",
        topup_id=payment.pk,
        cents=payment.cents,
        customer=customer,
        method=DECLINING if customer and payment.declines_later else customer,
    )
