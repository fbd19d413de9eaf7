"""What a signed-in person's browser calls the realtime API with: a key of an hour, one for a person and organization.

It is a key like any other, so that requests of the playground are admitted, limited, billed and recorded as all are;
only it is listed nowhere. Every page that asks gives it another secret, and the one before works on until its hour is
over, for a second tab. A secret is in the memory of a page and nowhere else.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from accounts.key_options import KeyOptions
from accounts.models import ApiKey, Membership
from accounts.services import keys
from accounts.services.keys import NewKey
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Forbidden

LIFE: Final = timedelta(hours=1)
SCOPES: Final = frozenset({"text:write", "embeddings:write", "decisions:write"})
_NAME: Final = "Playground of {}"


@transaction.atomic
def open(*, organization_id: UUID, user_id: int) -> NewKey:
    """A secret that works for an hour; Forbidden (403) for somebody who is not, or no longer, in the organization."""
    mine = Membership.objects.select_related("user").select_for_update(of=("self",))
    membership = mine.filter(organization_id=organization_id, user_id=user_id).first()
    if membership is None:
        raise Forbidden("You are not in this organization any more.")
    actor, now = Actor("user", str(user_id)), clock.now()
    theirs = _of(user_id).filter(organization_id=organization_id)
    # One that staff revoked is over, and from then on listed like any other that is.
    theirs.filter(revoked_at__isnull=False).update(for_playground=False)
    key = theirs.first()
    if key is None:
        made = keys.create(
            organization_id=organization_id,
            name=_NAME.format(membership.user.email)[:100],
            options=KeyOptions(scopes=SCOPES, expires_at=now + LIFE),
            actor=actor,
        )
        ApiKey.objects.filter(pk=made.id).update(for_playground=True)
        return made
    left = key.expires_at - now if key.expires_at else timedelta(0)
    made = keys.rotate(organization_id=organization_id, key_id=key.pk, overlap=max(left, timedelta(0)), actor=actor)
    ApiKey.objects.filter(pk=made.id).update(expires_at=now + LIFE)
    return made


def close(*, user_id: int, organization_id: UUID | None = None) -> None:
    """Refuse what a person's pages call with from now on, in one organization or all; a new page asks for another."""
    theirs = _of(user_id)
    if organization_id is not None:
        theirs = theirs.filter(organization_id=organization_id)
    theirs.update(expires_at=clock.now(), previous_sha256=None, previous_expires_at=None)


def _of(user_id: int) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(created_by_id=user_id, for_playground=True)
