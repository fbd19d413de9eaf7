"""Credits set aside for approved work, then captured and released in one step."""

import logging
from dataclasses import dataclass
from uuid import UUID

from anex.core.actors import Actor
from anex.core.errors import NotFound
from billing import amounts
from billing.balance import Balance
from billing.services import verbs

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a hold ended, in nano-dollars: what became a charge, and what the organization got back."""

    captured_nano: int
    released_nano: int


def place(*, organization_id: UUID, source: str, amount_nano: int, actor: Actor) -> bool:
    """Set `amount_nano` aside; False, and no change, when `source` already has its hold (settled or not).

    Raises PaymentRequired when less is available, InvalidRequest for an absurd amount, NotFound for an
    unknown organization, Conflict for a source of another organization.
    """
    amounts.check(amount_nano)
    outcome, columns = verbs.call("billing_place_hold_v1", organization_id, source, amount_nano, str(actor))
    if outcome == "insufficient":
        raise Balance(*columns).shortfall(amount_nano)
    return outcome == "placed"


def settle(*, source: str, charge_nano: int, actor: Actor) -> Settlement:
    """Capture the charge, never more than is held, and release the rest.

    A hold that is already settled is left as it is and its first outcome comes back. NotFound when `source`
    has no hold.
    """
    # A hold is at most the largest amount, so this cuts off nothing that could be captured.
    payable_nano = min(max(charge_nano, 0), amounts.MAX_AMOUNT_NANO)
    outcome, columns = verbs.call("billing_settle_hold_v1", source, payable_nano, str(actor))
    if outcome == "unknown_hold":
        raise NotFound("Nothing is held under this source.")
    settlement = Settlement(*columns)
    if outcome == "settled" and charge_nano > settlement.captured_nano:
        log.warning("%s: %d nano-dollars above the hold are our loss", source, charge_nano - settlement.captured_nano)
    return settlement
