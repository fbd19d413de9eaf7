"""Payments that failed. A saved method that is refused is not charged again until a person turns top-ups on.

Whoever hears of it first does all of it, in one transaction: the answer to the charge or the gateway's event.
"""

from uuid import UUID

from django.db import transaction

from accounts.alert_kinds import Kind
from accounts.services import alerts, audit
from anex.core.actors import system
from anex.core.money import cents_to_nano, format_dollars
from billing.models import AutoTopup, Topup

_ACTOR = system("auto_topup")


@transaction.atomic
def close(topup_id: UUID, *, gateway: str, failure: str) -> bool:
    """Note why an open payment came to nothing; False, and no change, for one that is not open.

    Of an automatic one owners and admins are told by e-mail, and no other is made.
    """
    mine = Topup.objects.filter(pk=topup_id, gateway=gateway, state=Topup.State.OPEN)
    if not mine.update(state=Topup.State.FAILED, failure=failure[:200]):
        return False
    topup = Topup.objects.get(pk=topup_id)
    if topup.automatic:
        _turn_off(topup)
    return True


def _turn_off(topup: Topup) -> None:
    AutoTopup.objects.filter(organization_id=topup.organization_id).update(enabled=False, failure=topup.failure)
    audit.record(
        organization_id=topup.organization_id,
        actor=_ACTOR,
        action="credits.auto_topup",
        target=str(topup.pk),
        reason=f"off: {topup.failure}",
    )
    alerts.raise_once(
        organization_id=topup.organization_id,
        kind=Kind.AUTO_TOPUP_FAILED,
        subject=str(topup.pk),
        crossing="failed",
        facts={"amount": format_dollars(cents_to_nano(topup.cents)), "failure": topup.failure},
    )
