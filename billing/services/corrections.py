"""Balances put right by staff, in either direction."""

from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.money import cents_to_nano
from billing import amounts
from billing.models import Transfer
from billing.services import verbs


@transaction.atomic
def adjust(*, organization_id: UUID, cents: int, reason: str, source: str, actor: Actor) -> bool:
    """Add `cents` credits, or take them where negative; the balance may go below zero.

    False, and no change, when `source` was applied before. Raises as `grants.give` does.
    """
    amount_nano = cents_to_nano(cents)
    amounts.check(abs(amount_nano))
    outcome, _ = verbs.call(
        "billing_transfer_v1",
        source,
        organization_id,
        "corrections",
        amount_nano,
        Transfer.Kind.CORRECTION,
        str(actor),
        reason,
    )
    if outcome == "moved":
        audit.record(
            organization_id=organization_id,
            actor=actor,
            action="credits.correct",
            target=source[:64],
            reason=reason,
            details={"cents": cents},
        )
    return outcome == "moved"
