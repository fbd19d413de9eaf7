"""Money received outside a payment page: a bank transfer, a paid invoice."""

from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest
from anex.core.money import cents_to_nano
from billing import amounts
from billing.models import Transfer
from billing.services import verbs


@transaction.atomic
def record(*, organization_id: UUID, cents: int, reason: str, source: str, actor: Actor) -> bool:
    """Add a payment of `cents` to the balance; False, and no change, when `source` was recorded before.

    Raises as `grants.give` does, and InvalidRequest without a reason (what the payment was).
    """
    if not reason.strip():
        raise InvalidRequest("Say which payment this is; it is kept in the ledger.", param="reason")
    amount_nano = cents_to_nano(cents)
    amounts.check(amount_nano)
    outcome, _ = verbs.call(
        *("billing_transfer_v1", source, organization_id, "payments", amount_nano),
        *(Transfer.Kind.PAYMENT, str(actor), reason),
    )
    if outcome != "moved":
        return False
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="credits.payment",
        target=source[:64],
        reason=reason,
        details={"cents": cents},
    )
    return True
