"""Notices: what staff tells people on every page of the console, of maintenance ahead for one."""

from django.db import transaction

from accounts.models import Notice
from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound


@transaction.atomic
def show(*, text: str, actor: Actor, reason: str) -> int:
    """Show a notice from the next page on; returns its id. Raises InvalidRequest (400) without a text or a reason."""
    told = " ".join(text.split())
    if not told or len(told) > 500 or not reason.strip():
        raise InvalidRequest("Give a text of at most 500 characters, and a reason for the audit record.")
    notice = Notice.objects.create(text=told, shown_at=clock.now())
    audit.record(organization_id=None, actor=actor, action="notice.show", target=str(notice.pk), reason=reason)
    return notice.pk


@transaction.atomic
def end(*, notice_id: int, actor: Actor, reason: str) -> None:
    """Take a notice down. Raises NotFound (404), Conflict (409) when it is down already."""
    notice = Notice.objects.select_for_update().filter(pk=notice_id).first()
    if notice is None:
        raise NotFound("There is no such notice.")
    if notice.ended_at:
        raise Conflict("The notice is down already.")
    notice.ended_at = clock.now()
    notice.save(update_fields=["ended_at"])
    audit.record(organization_id=None, actor=actor, action="notice.end", target=str(notice.pk), reason=reason)
