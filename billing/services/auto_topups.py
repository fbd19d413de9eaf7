"""Automatic top-ups: a saved payment method is charged when what is available falls below a threshold.

Off until a person turns it on; a declined charge turns it off again. An organization that is suspended, perhaps for a
disputed payment, is not charged.
"""

import logging
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from accounts.services import audit
from anex.core.actors import Actor, system
from anex.core.errors import Conflict, InvalidRequest
from anex.core.money import cents_to_nano, format_dollars
from billing import gateways
from billing.gateways.interface import Declined, Gateway, GatewayAway
from billing.models import AutoTopup, Topup
from billing.selectors import balances
from billing.selectors import topups as topup_reads
from billing.services import failed_topups, payment_events, topups

log = logging.getLogger(__name__)

_ACTOR = system("auto_topup")
MAX_CAP_CENTS = 10_000_000
# For how long a charge may be asked for again; gateways know an idempotency key for a day.
ASKED_FOR = timedelta(hours=20)
_TURNED_OFF = "Automatic top-ups were turned off before the payment service answered."


@transaction.atomic
def configure(
    *, organization_id: UUID, enabled: bool, threshold_cents: int, cents: int, monthly_cap_cents: int, actor: Actor
) -> None:
    """Set when to top up and by how much. `monthly_cap_cents` bounds a calendar month in UTC.

    Turned off, a charge that is under way is not asked for again; if it was made by then, its event books it.
    Conflict without a saved payment method, InvalidRequest for amounts that make no sense.
    """
    row = AutoTopup.objects.select_for_update().filter(organization_id=organization_id).first()
    if row is None:
        raise Conflict("Add credits once with “save this payment method” ticked; then it can be charged again.")
    if enabled:
        topups.check_amount(cents)
        if not 1 <= threshold_cents <= topups.MAX_CENTS:
            raise InvalidRequest("Choose a threshold above zero.", param="threshold")
        if not cents <= monthly_cap_cents <= MAX_CAP_CENTS:
            raise InvalidRequest("The monthly cap must be at least one top-up.", param="monthly_cap")
        row.threshold_cents, row.cents, row.monthly_cap_cents = threshold_cents, cents, monthly_cap_cents
        row.failure = ""
    else:
        _under_way(organization_id).update(state=Topup.State.FAILED, failure=_TURNED_OFF)
    row.enabled = enabled
    row.save()
    _record(row, actor)


@transaction.atomic
def forget_method(*, organization_id: UUID, actor: Actor) -> None:
    """Forget the saved payment method, and the rule for charging it; Conflict while it is being charged."""
    # Locked first: no charge of it begins between the look and the end of it.
    row = AutoTopup.objects.select_for_update().filter(organization_id=organization_id).first()
    if _under_way(organization_id).exists():
        raise Conflict("The payment method is being charged just now. Turn top-ups off, or try again in a minute.")
    if row is not None:
        row.delete()
    audit.record(organization_id=organization_id, actor=actor, action="credits.forget_payment_method")


def _record(row: AutoTopup, actor: Actor) -> None:
    terms = (cents_to_nano(value) for value in (row.cents, row.threshold_cents, row.monthly_cap_cents))
    audit.record(
        organization_id=row.organization_id,
        actor=actor,
        action="credits.auto_topup",
        reason="{} below {}, at most {} a month".format(*map(format_dollars, terms)) if row.enabled else "off",
    )


def run(now: datetime) -> int:
    """Charge every organization that is below its threshold; answers how many were paid. Safe to run twice at once."""
    gateway = gateways.configured()
    if gateway is None:
        return 0
    paid = 0
    for organization_id in list(_rules(gateway).values_list("organization_id", flat=True)):
        topup = _begin(organization_id, gateway, now)
        if topup:
            paid += _charge(topup, gateway)
    return paid


@transaction.atomic
def _begin(organization_id: UUID, gateway: Gateway, now: datetime) -> Topup | None:
    """The top-up to charge: one that a killed process left under way, or a new one where the rule asks for it."""
    free = _rules(gateway).select_for_update(skip_locked=True, of=("self",))
    row = free.filter(organization_id=organization_id).first()
    if row is None:
        return None
    under_way = _under_way(organization_id).first()
    if under_way:
        if under_way.gateway == gateway.name and now - under_way.created_at < ASKED_FOR:
            return under_way
        _give_up(under_way)
        return None
    if balances.get(organization_id).available_nano >= cents_to_nano(row.threshold_cents):
        return None
    if topup_reads.automatic_since(organization_id, month_of(now)) + row.cents > row.monthly_cap_cents:
        return None
    return Topup.objects.create(
        organization_id=organization_id,
        gateway=gateway.name,
        cents=row.cents,
        automatic=True,
        created_by=str(_ACTOR),
    )


def _rules(gateway: Gateway) -> QuerySet[AutoTopup]:
    return AutoTopup.objects.filter(enabled=True, gateway=gateway.name, organization__suspended_at=None)


def _under_way(organization_id: UUID) -> QuerySet[Topup]:
    return Topup.objects.filter(organization_id=organization_id, automatic=True, state=Topup.State.OPEN)


def month_of(moment: datetime) -> datetime:
    """When the calendar month (UTC) began that the monthly cap counts."""
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _give_up(topup: Topup) -> None:
    """Asking again would be another charge by now; if the first one was made after all, its event books it."""
    failed_topups.close(topup.pk, gateway=topup.gateway, failure="The payment service did not answer for hours.")


def _charge(topup: Topup, gateway: Gateway) -> bool:
    """Outside any transaction; a repetition after a crash is the same charge."""
    row = AutoTopup.objects.filter(organization_id=topup.organization_id).first()
    if row is None:
        return False
    try:
        event = gateway.charge_saved(topups.order(topup), customer=row.customer_ref, method=row.method_ref)
    except Declined as refusal:
        failed_topups.close(topup.pk, gateway=gateway.name, failure=refusal.message)
        return False
    except GatewayAway:
        log.warning("automatic top-up %s: the gateway is away; the next sweep asks again", topup.pk)
        return False
    payment_events.apply(gateway.name, event)
    return True
