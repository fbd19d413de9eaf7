"""The same outside world for each gateway: a customer who pays, and signed events, as webhooks carry them."""

import itertools
import json
import time
from typing import Any
from uuid import UUID

from stripe import WebhookSignature

from billing.gateways import local
from billing.gateways.interface import Event
from billing.models import LocalPayment, Topup
from tests.billing.gateways import stripe_double
from tests.billing.gateways.stripe_double import StripeDouble

WEBHOOK_SECRET = "whsec_test"

Signed = tuple[bytes, str]
_numbers = itertools.count(1)


class LocalDriver:
    name = "local"
    path = "/billing/webhooks/local"

    def pay(self, topup: Topup) -> Signed:
        """The customer pays; the event that says so."""
        return local.decide(topup.pk, paid=True)

    def payment(self, topup: Topup) -> str:
        return f"lp_{topup.pk}"

    def saved(self, topup: Topup) -> list[Signed]:
        """Every event of a payment whose method is saved."""
        return [self.pay(topup)]

    def close(self, topup: Topup) -> Signed:
        return local.decide(topup.pk, paid=False)

    def refund(self, payment: str, about: str, cents: int, *, failed: bool = False) -> Signed:
        return self._event("restored" if failed else "taken", payment, about, cents, "refund")

    def dispute(self, payment: str, about: str, cents: int, *, won: bool = False) -> Signed:
        return self._event("restored" if won else "taken", payment, about, cents, "dispute")

    def aged(self, signed: Signed, seconds: int) -> Signed:
        """The same event, signed that long ago."""
        body, _ = signed
        stamp = int(time.time()) - seconds
        return body, f"t={stamp},v1={local._digest(stamp, body)}"

    def decline_saved_method(self, organization_id: UUID) -> None:
        from billing.models import AutoTopup

        AutoTopup.objects.filter(organization_id=organization_id).update(method_ref=local.DECLINING)

    def charges(self) -> int:
        """How many payments were made."""
        return LocalPayment.objects.filter(state="paid").count()

    def _event(self, kind: Any, payment: str, about: str, cents: int, cause: Any) -> Signed:
        return local.sign(Event(f"le_{next(_numbers)}", kind, payment=payment, cents=cents, cause=cause, about=about))


class StripeDriver:
    name = "stripe"
    path = "/billing/webhooks/stripe"

    def __init__(self, double: StripeDouble) -> None:
        self.double = double

    def pay(self, topup: Topup) -> Signed:
        return self.sign("checkout.session.completed", self.double.pay(topup.checkout_ref))

    def payment(self, topup: Topup) -> str:
        return str(self.double.pay(topup.checkout_ref)["payment_intent"])

    def saved(self, topup: Topup) -> list[Signed]:
        intent = stripe_double.intent_object(self.payment(topup), str(topup.pk), topup.cents, saves=True)
        return [self.pay(topup), self.sign("payment_intent.succeeded", intent)]

    def close(self, topup: Topup) -> Signed:
        session = self.double.sessions[topup.checkout_ref]
        session["status"] = "expired"
        return self.sign("checkout.session.expired", session)

    def refund(self, payment: str, about: str, cents: int, *, failed: bool = False) -> Signed:
        status = "failed" if failed else "succeeded"
        refund = stripe_double.refund_object(about, payment, cents, status)
        return self.sign("refund.failed" if failed else "refund.created", refund)

    def dispute(self, payment: str, about: str, cents: int, *, won: bool = False) -> Signed:
        kind = "funds_reinstated" if won else "funds_withdrawn"
        return self.sign(f"charge.dispute.{kind}", stripe_double.dispute_object(about, payment, cents))

    def aged(self, signed: Signed, seconds: int) -> Signed:
        body, _ = signed
        return body, self._signature(body, int(time.time()) - seconds)

    def decline_saved_method(self, organization_id: UUID) -> None:
        self.double.declines = True

    def charges(self) -> int:
        intents = [made for made in self.double.created.values() if made["object"] == "payment_intent"]
        return len(intents) + sum(session["payment_status"] == "paid" for session in self.double.sessions.values())

    def sign(self, kind: str, thing: dict[str, Any]) -> Signed:
        """An event as Stripe sends it."""
        event = {
            "id": f"evt_{next(_numbers)}",
            "object": "event",
            "type": kind,
            "created": int(time.time()),
            "data": {"object": thing},
        }
        body = json.dumps(event).encode()
        return body, self._signature(body, int(time.time()))

    def _signature(self, body: bytes, stamp: int) -> str:
        return WebhookSignature.generate_signature_header(body.decode(), WEBHOOK_SECRET, stamp)
