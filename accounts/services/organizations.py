"""Organizations: created with their first owner, suspended and resumed by staff."""

from uuid import UUID

from django.db import transaction

from accounts.models import Membership, Organization
from accounts.services import audit, names
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest


@transaction.atomic
def create(*, name: str, owner_id: int, actor: Actor) -> Organization:
    """A new organization with one owner; raises InvalidRequest (400) for an unusable name."""
    organization = Organization.objects.create(name=names.clean(name))
    Membership.objects.create(organization=organization, user_id=owner_id, role=Membership.Role.OWNER)
    audit.record(organization_id=organization.pk, actor=actor, action="organization.create")
    return organization


@transaction.atomic
def suspend(*, organization_id: UUID, actor: Actor, reason: str) -> None:
    """Refuse every key of the organization from now on; running jobs finish.

    Raises InvalidRequest (400) without a reason, Conflict (409) when it is suspended already.
    """
    _require(reason)
    changed = Organization.objects.filter(pk=organization_id, suspended_at=None).update(suspended_at=clock.now())
    if not changed:
        raise Conflict("This organization is suspended already.")
    audit.record(organization_id=organization_id, actor=actor, action="organization.suspend", reason=reason)


@transaction.atomic
def resume(*, organization_id: UUID, actor: Actor, reason: str) -> None:
    """Accept the organization's keys again.

    Raises InvalidRequest (400) without a reason, Conflict (409) when it is not suspended.
    """
    _require(reason)
    changed = Organization.objects.filter(pk=organization_id).exclude(suspended_at=None).update(suspended_at=None)
    if not changed:
        raise Conflict("This organization is not suspended.")
    audit.record(organization_id=organization_id, actor=actor, action="organization.resume", reason=reason)


def _require(reason: str) -> None:
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the audit record.", param="reason")
