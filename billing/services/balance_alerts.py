"""The e-mail about a low balance: once each time that what is available falls below the owner's threshold.

Looked at by a sweep, so that no hold or charge waits for it: a balance that was back above the threshold before the
sweep came by did not cross it.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from accounts.alert_kinds import Kind
from accounts.services import alerts, audit
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest
from anex.core.money import NANO_PER_CENT, cents_to_nano, format_dollars
from billing.models import Account, BalanceAlert
from billing.selectors import balances

MAX_CENTS = 100_000_000


@transaction.atomic
def configure(*, organization_id: UUID, threshold_cents: int | None, actor: Actor) -> None:
    """Tell owners and admins when less than the threshold is available; None for never. InvalidRequest (400)."""
    if threshold_cents is not None and not 1 <= threshold_cents <= MAX_CENTS:
        most = format_dollars(cents_to_nano(MAX_CENTS))
        raise InvalidRequest(f"Choose a threshold above zero and at most {most}.", param="threshold")
    BalanceAlert.objects.update_or_create(
        organization_id=organization_id, defaults={"threshold_cents": threshold_cents}
    )
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="credits.low_balance_alert",
        details={"threshold_cents": threshold_cents},
    )


def watch(_now: datetime) -> int:
    """Tell whose balance fell below its threshold, and be ready to tell again about those that rose over it."""
    BalanceAlert.objects.filter(~_is_short(), is_low=True).update(is_low=False)
    told = 0
    for pk in _falling().values_list("pk", flat=True):
        told += _tell(pk)
    return told


def _falling() -> QuerySet[BalanceAlert]:
    return BalanceAlert.objects.filter(_is_short(), is_low=False)


def _is_short() -> Exists:
    """An organization that never had credits has no account, and nothing that could run low."""
    available = F("balance_nano") + F("credit_limit_nano") - F("held_nano")
    mine = Account.objects.filter(organization_id=OuterRef("organization_id")).annotate(available=available)
    return Exists(mine.filter(available__lt=OuterRef("threshold_cents") * NANO_PER_CENT))


@transaction.atomic
def _tell(pk: int) -> bool:
    """Of two sweeps at once the second finds the row marked."""
    if not _falling().filter(pk=pk).update(is_low=True, crossings=F("crossings") + 1):
        return False
    row = BalanceAlert.objects.get(pk=pk)
    available_nano = balances.get(row.organization_id).available_nano
    return alerts.raise_once(
        organization_id=row.organization_id,
        kind=Kind.LOW_BALANCE,
        subject=str(row.organization_id),
        crossing=str(row.crossings),
        facts={
            "available": format_dollars(available_nano),
            "threshold": format_dollars(cents_to_nano(row.threshold_cents or 0)),
        },
    )
