"""Credits given for free."""

from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.money import cents_to_nano
from billing import amounts
from billing.models import Transfer
from billing.services import verbs


@transaction.atomic
def give(*, organization_id: UUID, cents: int, reason: str, source: str, actor: Actor) -> bool:
    """Add `cents` credits to an organization; False, and no change, when `source` was given before.

    Raises InvalidRequest for an absurd amount, NotFound for an unknown organization, Conflict for a source
    of another organization.
    """
    amount_nano = cents_to_nano(cents)
    amounts.check(amount_nano)
    outcome, _ = verbs.call(
        "billing_transfer_v1", source, organization_id, "grants", amount_nano, Transfer.Kind.GRANT, str(actor), reason
    )
    if outcome == "moved":
        audit.record(
            organization_id=organization_id,
            actor=actor,
            action="credits.grant",
            target=source[:64],
            reason=reason,
            details={"cents": cents},
        )
    return outcome == "moved"
