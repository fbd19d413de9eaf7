"""Billing by monthly invoice: how far below zero an organization may spend."""

from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest
from anex.core.money import cents_to_nano
from billing import amounts
from billing.services import verbs


@transaction.atomic
def set_limit(*, organization_id: UUID, cents: int, reason: str, actor: Actor) -> None:
    """Let the organization's spending take its balance down to `-cents`; 0 is prepaid.

    InvalidRequest without a reason or for an absurd amount, NotFound for an unknown organization. A limit lowered
    below what is owed takes nothing back: new work is refused until enough is paid.
    """
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the audit record.", param="reason")
    limit_nano = cents_to_nano(cents)
    if not 0 <= limit_nano <= amounts.MAX_AMOUNT_NANO:
        raise amounts.out_of_range()
    verbs.call("billing_set_credit_limit_v1", organization_id, limit_nano)
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="credits.limit",
        reason=reason,
        details={"cents": cents},
    )
