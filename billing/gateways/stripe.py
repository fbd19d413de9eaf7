"""Stripe Checkout through Stripe's own client: our orders in its words, its events in ours."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

import stripe

from billing.gateways.interface import Checkout, Declined, Event, GatewayAway, InvalidSignature, Kind, Order

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
# One of Stripe's objects as plain values.
Thing = dict[str, Any]

_TIMEOUT_S = 20
_CURRENCY = "usd"
_RETRIES = 2


class Stripe:
    """Payments in US dollars; every call that creates something carries an idempotency key."""

    name = "stripe"

    def __init__(self, *, secret_key: str, webhook_secret: str, api_base: str) -> None:
        self._webhook_secret = webhook_secret
        self._client = stripe.StripeClient(
            secret_key,
            base_addresses={"api": api_base},
            max_network_retries=_RETRIES,
            http_client=stripe.RequestsClient(timeout=_TIMEOUT_S),
        )

    def open_checkout(self, order: Order) -> Checkout:
        """A Checkout session that expires by itself after a day."""
        about = {"topup_id": str(order.topup_id), "organization_id": str(order.organization_id)}
        intent: dict[str, Any] = {"metadata": about}
        params: dict[str, Any] = {
            "mode": "payment",
            "client_reference_id": str(order.topup_id),
            "metadata": about,
            "line_items": [
                {
                    "quantity": 1,
                    "price_data": {
                        "currency": _CURRENCY,
                        "unit_amount": order.cents,
                        "product_data": {"name": "Anex credits"},
                    },
                }
            ],
            "payment_intent_data": intent,
            "success_url": order.return_url,
            "cancel_url": order.cancel_url,
        }
        if order.save_method:
            intent["setup_future_usage"] = "off_session"
            params["customer_creation"] = "always"
        session = _ask(lambda: self._client.v1.checkout.sessions.create(params, _once(f"topup:{order.topup_id}")))  # type: ignore[arg-type]
        return Checkout(ref=session.id, url=session.url or "")

    def look_up(self, checkout_ref: str) -> Event | None:
        """The session as Stripe has it now."""
        session = _ask(lambda: self._client.v1.checkout.sessions.retrieve(checkout_ref))
        return _of_session(session.to_dict(), f"session:{session.id}:{session.payment_status}:{session.status}")

    def charge_saved(self, order: Order, *, customer: str, method: str) -> Event:
        """A confirmed payment without the customer present; one that would need them is declined."""
        params: dict[str, Any] = {
            "amount": order.cents,
            "currency": _CURRENCY,
            "customer": customer,
            "payment_method": method,
            "off_session": True,
            "confirm": True,
            "metadata": {
                "topup_id": str(order.topup_id),
                "organization_id": str(order.organization_id),
                "automatic": "true",
            },
        }
        intent = _ask(lambda: self._client.v1.payment_intents.create(params, _once(f"topup:{order.topup_id}")))  # type: ignore[arg-type]
        paid = _paid_intent(intent.to_dict(), f"intent:{intent.id}") if intent.status == "succeeded" else None
        if paid is None:
            raise Declined("The payment needs the card holder.")
        return paid

    def refund(self, payment: str, *, cents: int, key: UUID) -> Event:
        """A refund of a part or all of a payment."""
        params: dict[str, Any] = {"payment_intent": payment, "amount": cents}
        made = _ask(lambda: self._client.v1.refunds.create(params, _once(f"refund:{key}")))  # type: ignore[arg-type]
        event = _of_refund(made.to_dict(), f"refund:{made.id}:{made.status}")
        if event is None:
            raise Declined("The refund was not accepted.")
        return event

    def read_event(self, body: bytes, signature: str) -> Event | None:
        """Verified by Stripe's library, within its tolerance of five minutes."""
        try:
            event = self._client.construct_event(body, signature, self._webhook_secret)
        except (stripe.SignatureVerificationError, ValueError) as error:
            raise InvalidSignature("The signature is wrong or too old.") from error
        read = _READERS.get(event.type)
        return read(event.data.object.to_dict(), event.id) if read else None


def _once(key: str) -> stripe.RequestOptions:
    return {"idempotency_key": key}


def _ask(call: Callable[[], Answer]) -> Answer:
    """Stripe's answer; its refusals and its silence in our words."""
    try:
        return call()
    except stripe.CardError as error:
        raise Declined(error.user_message or "The card was declined.") from error
    except (stripe.APIConnectionError, stripe.RateLimitError, stripe.APIError) as error:
        raise GatewayAway("The payment service did not answer. Try again in a moment.", retry_after=5) from error
    except stripe.StripeError as error:
        log.error("Stripe refused a call: %s %s", type(error).__name__, error.code)
        raise Declined("The payment service refused this payment.") from error


def _of_session(session: Thing, event_id: str) -> Event | None:
    topup_id = _topup_id(session)
    if topup_id is None:
        return None
    if session["payment_status"] == "paid" and _in_dollars(session):
        return Event(
            event_id, "paid", payment=session["payment_intent"], topup_id=topup_id, cents=session["amount_total"],
            customer=session["customer"] or "",
        )  # fmt: skip
    return Event(event_id, "unpaid", topup_id=topup_id) if session["status"] == "expired" else None


def _failed_session(session: Thing, event_id: str) -> Event | None:
    topup_id = _topup_id(session)
    return Event(event_id, "unpaid", topup_id=topup_id) if topup_id else None


def _paid_intent(intent: Thing, event_id: str) -> Event | None:
    topup_id = _topup_id(intent)
    if topup_id is None or not _in_dollars(intent):
        return None
    reusable = intent.get("setup_future_usage") == "off_session"
    return Event(
        event_id,
        "paid",
        payment=intent["id"],
        topup_id=topup_id,
        cents=intent["amount_received"],
        customer=(intent["customer"] or "") if reusable else "",
        method=(intent["payment_method"] or "") if reusable else "",
    )


def _failed_intent(intent: Thing, event_id: str) -> Event | None:
    """A declined card on a payment page may be followed by another card; an automatic payment is over."""
    if (intent["metadata"] or {}).get("automatic") != "true":
        return None
    return Event(event_id, "unpaid", topup_id=_topup_id(intent))


def _of_refund(refund: Thing, event_id: str) -> Event | None:
    kinds: dict[str, Kind] = {"succeeded": "taken", "pending": "taken", "failed": "restored", "canceled": "restored"}
    kind = kinds.get(refund["status"])
    if kind is None or not refund["payment_intent"] or not _in_dollars(refund):
        return None
    return Event(
        event_id, kind, payment=refund["payment_intent"], cents=refund["amount"], cause="refund", about=refund["id"]
    )


def _of_dispute(kind: Kind) -> Callable[[Thing, str], Event | None]:
    def read(dispute: Thing, event_id: str) -> Event | None:
        if not dispute["payment_intent"] or not _in_dollars(dispute):
            return None
        return Event(
            event_id,
            kind,
            payment=dispute["payment_intent"],
            cents=dispute["amount"],
            cause="dispute",
            about=dispute["id"],
        )

    return read


def _topup_id(thing: Thing) -> UUID | None:
    try:
        return UUID((thing["metadata"] or {})["topup_id"])
    except (KeyError, ValueError):
        return None


def _in_dollars(thing: Thing) -> bool:
    if thing["currency"] == _CURRENCY:
        return True
    log.error("Stripe's %s is not in US dollars; nothing was booked", thing["id"])
    return False


_READERS: dict[str, Callable[[Thing, str], Event | None]] = {
    "checkout.session.completed": _of_session,
    "checkout.session.async_payment_succeeded": _of_session,
    "checkout.session.async_payment_failed": _failed_session,
    "checkout.session.expired": _failed_session,
    "payment_intent.succeeded": _paid_intent,
    "payment_intent.payment_failed": _failed_intent,
    "refund.created": _of_refund,
    "refund.updated": _of_refund,
    "refund.failed": _of_refund,
    "charge.dispute.funds_withdrawn": _of_dispute("taken"),
    "charge.dispute.funds_reinstated": _of_dispute("restored"),
}
