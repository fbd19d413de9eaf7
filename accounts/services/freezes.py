"""Freezing a surface for maintenance: its calls are refused, workers go on with what they have."""

from django.db import transaction

from accounts.models import Freeze
from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound

# Each has a row from the start; a surface is added with what reads its row.
SURFACES = ("batch", "realtime", "uploads", "console")


@transaction.atomic
def switch(*, surface: str, frozen: bool, actor: Actor, reason: str) -> None:
    """Freeze a surface or open it again, in force from the next request in every process; clients are told the reason.

    Raises NotFound (404), InvalidRequest (400) without a reason, Conflict (409) when it is so already.
    """
    if surface not in SURFACES:
        raise NotFound(f"There is no surface {surface}.")
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the audit record and told to clients.", param="reason")
    row, _ = Freeze.objects.select_for_update().get_or_create(pk=surface)
    if (row.frozen_at is not None) is frozen:
        raise Conflict(f"The surface {surface} is {'frozen' if frozen else 'open'} already.")
    row.frozen_at = clock.now() if frozen else None
    row.reason = " ".join(reason.split())[:500].rstrip(". ") if frozen else ""
    row.save(update_fields=["frozen_at", "reason"])
    action = f"surface.{'freeze' if frozen else 'open'}"
    audit.record(organization_id=None, actor=actor, action=action, target=surface, reason=reason)
