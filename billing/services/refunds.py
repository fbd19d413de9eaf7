"""Charges given back to an organization's balance."""

from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound
from anex.core.money import cents_to_nano, format_dollars
from billing import amounts
from billing.models import Transfer
from billing.services import verbs


@transaction.atomic
def give_back(*, organization_id: UUID, charge_id: int, cents: int, reason: str, source: str, actor: Actor) -> bool:
    """Return `cents` of a charge as credits, in a line of its own; False, and no change, for a known `source`.

    NotFound for anything that is no charge of the organization, InvalidRequest without a reason or for an absurd
    amount, Conflict when the refunds of the charge would pass it.
    """
    amount_nano = cents_to_nano(cents)
    amounts.check(amount_nano)
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the ledger.", param="reason")
    charges = Transfer.objects.filter(pk=charge_id, debit__organization_id=organization_id, kind=Transfer.Kind.CHARGE)
    if not charges.exists():
        raise NotFound("There is no such charge.")
    outcome, (refundable_nano,) = verbs.call(
        "billing_refund_charge_v1", charge_id, source, amount_nano, str(actor), reason
    )
    if outcome == "too_much":
        raise Conflict(f"At most {format_dollars(refundable_nano)} of this charge can still be given back.")
    if outcome != "moved":
        return False
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="credits.refund",
        target=str(charge_id),
        reason=reason,
        details={"cents": cents},
    )
    return True
