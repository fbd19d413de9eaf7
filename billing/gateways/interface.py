"""What every payment gateway does, in our own words. Amounts are US cents."""

from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from anex.core.errors import Conflict, InvalidRequest, Unavailable

# paid: the top-up's money is here. unpaid: its payment page is closed. taken: a refund or a dispute took money
# back. restored: that refund failed, or that dispute was won.
Kind = Literal["paid", "unpaid", "taken", "restored"]
Cause = Literal["", "refund", "dispute"]


@dataclass(frozen=True, slots=True)
class Order:
    """What a customer is asked to pay; `topup_id` is also the idempotency key of every call about it."""

    topup_id: UUID
    organization_id: UUID
    cents: int
    return_url: str
    cancel_url: str
    save_method: bool = False


@dataclass(frozen=True, slots=True)
class Checkout:
    """A page where the customer pays, and the gateway's name for it."""

    ref: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a payment. `id` is the gateway's; the same id is the same event.

    `about` is the refund or dispute that took or restored money; `customer` and `method` name a saved way to pay.
    """

    id: str
    kind: Kind
    payment: str = ""
    topup_id: UUID | None = None
    cents: int = 0
    cause: Cause = ""
    about: str = ""
    customer: str = ""
    method: str = ""


class InvalidSignature(InvalidRequest):
    """400: the body is not what the gateway signed, or was signed too long ago."""

    code = "invalid_signature"


class Declined(Conflict):
    """409: the gateway refused the payment; trying again changes nothing."""

    code = "payment_declined"


class GatewayAway(Unavailable):
    """503: the gateway did not answer; what was asked may or may not have happened, and may be asked again."""

    code = "gateway_unavailable"


class Gateway(Protocol):
    """A way for money to come in and go back."""

    name: str

    def open_checkout(self, order: Order) -> Checkout:
        """A payment page for the order; the same order again is the same page. Raises GatewayAway or Declined."""

    def look_up(self, checkout_ref: str) -> Event | None:
        """How a payment page ended; None while it is open. Raises GatewayAway."""

    def charge_saved(self, order: Order, *, customer: str, method: str) -> Event:
        """Charge a saved payment method without the customer; safe to repeat. Raises GatewayAway or Declined."""

    def refund(self, payment: str, *, cents: int, key: UUID) -> Event:
        """Send money of a payment back; the same key again is the same refund. Raises GatewayAway or Declined."""

    def read_event(self, body: bytes, signature: str) -> Event | None:
        """The event of a webhook's raw body; None for one that changes nothing. Raises InvalidSignature."""
