"""Credits given for free, for good or until a day."""

from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor, system
from anex.core.errors import InvalidRequest
from anex.core.money import cents_to_nano
from billing import amounts
from billing.expiry import Expiring, unspent
from billing.models import Account, Grant, Transfer
from billing.services import verbs


@transaction.atomic
def give(
    *,
    organization_id: UUID,
    cents: int,
    reason: str,
    source: str,
    actor: Actor,
    expires_at: datetime | None = None,
) -> bool:
    """Add `cents` credits to an organization; False, and no change, when `source` was given before.

    What is unspent at `expires_at` is taken back. Raises InvalidRequest for an absurd amount or an end that is
    past, NotFound for an unknown organization, Conflict for a source of another organization.
    """
    amount_nano = cents_to_nano(cents)
    amounts.check(amount_nano)
    if expires_at is None:
        outcome, _ = verbs.call(
            *("billing_transfer_v1", source, organization_id, "grants", amount_nano),
            *(Transfer.Kind.GRANT, str(actor), reason),
        )
    else:
        if expires_at <= clock.now():
            raise InvalidRequest("The grant would expire at once. Choose a later day.", param="expires_at")
        outcome, _ = verbs.call(
            "billing_give_grant_v1", source, organization_id, amount_nano, str(actor), reason, expires_at
        )
    if outcome != "moved":
        return False
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="credits.grant",
        target=source[:64],
        reason=reason,
        details={"cents": cents},
    )
    return True


def expire_due(now: datetime) -> int:
    """Take back the unspent remainder of every grant whose end has come; answers how many grants ended.

    What of it is held then is taken back when it is released. Each account is its own transaction; safe to repeat and
    to run twice at once.
    """
    due = Grant.objects.filter(Q(expires_at__lte=now, expired_at=None) | Q(held_nano__gt=0))
    ended = 0
    for account_id in due.values_list("account_id", flat=True).distinct():
        ended += _expire_account(account_id, now)
    return ended


@transaction.atomic
def _expire_account(account_id: int, now: datetime) -> int:
    account = Account.objects.select_for_update(no_key=True).get(pk=account_id)
    rows = list(Grant.objects.filter(account_id=account_id).order_by("given_at", "id"))
    grants = [Expiring(row.source, row.amount_nano, row.given_at, row.expires_at, row.expired_nano) for row in rows]
    spent = _spent_after_each(account_id, [grant.given_at for grant in grants])
    left, unheld = unspent(grants, spent, 0), unspent(grants, spent, account.held_nano)
    ended = 0
    for row in rows:
        held = left[row.source] - unheld[row.source]
        if row.expired_at is None and row.expires_at <= now:
            _take_back(row, unheld[row.source], held)
            ended += 1
        elif row.held_nano > held:
            _take_back(row, min(unheld[row.source], row.held_nano - held), held)
    return ended


def _take_back(grant: Grant, unspent_nano: int, held_nano: int) -> None:
    verbs.call("billing_expire_grant_v2", grant.source, unspent_nano, held_nano, str(system("grants")))


def _spent_after_each(account_id: int, moments: list[datetime]) -> list[int]:
    """What was charged from each moment until the next, and from the last until now, in nano-dollars."""
    query = """
        SELECT width_bucket(at, %s::timestamptz[]), sum(amount_nano) FROM billing_transfer
        WHERE debit_id = %s AND kind = 'charge' AND at >= %s GROUP BY 1
    """
    with connection.cursor() as cursor:
        cursor.execute(query, [moments, account_id, moments[0]])
        spent = dict(cursor.fetchall())
    # Equal moments share the bucket of the last of them.
    return [int(spent.get(place, 0)) for place in range(1, len(moments) + 1)]
