"""Reads of who belongs where."""

from uuid import UUID

from django.db.models import Q

from accounts.models import Membership
from accounts.permissions import ADMIN, OWNER
from anex.core.errors import NotFound


def of_person(user_id: int) -> list[Membership]:
    """The memberships of a person with their organizations, the oldest first."""
    found = Membership.objects.filter(user_id=user_id).select_related("organization")
    return list(found.order_by("created_at", "pk"))


def of_organization(
    organization_id: UUID, *, find: str = "", after: int = 0, limit: int | None = None
) -> list[Membership]:
    """Members with their person, at most `limit`, the longest-serving first, from the one after membership `after` on.

    `find` is a part of an address.
    """
    found = Membership.objects.filter(organization_id=organization_id, pk__gt=after).select_related("user")
    if find:
        found = found.filter(user__email__icontains=find)
    return list(found.order_by("pk")[:limit])


def count(organization_id: UUID) -> int:
    """How many people are in an organization."""
    return Membership.objects.filter(organization_id=organization_id).count()


def managers(organization_id: UUID, limit: int) -> list[str]:
    """The addresses of owners and admins, the longest-serving first: whom a member asks."""
    mine = Membership.objects.filter(organization_id=organization_id, role__in=(OWNER, ADMIN), user__is_active=True)
    return list(mine.order_by("created_at", "pk").values_list("user__email", flat=True)[:limit])


def get(organization_id: UUID, user_id: int) -> Membership:
    """One person in the organization; NotFound (404) for anybody else."""
    found = Membership.objects.filter(organization_id=organization_id, user_id=user_id).select_related("user")
    membership = found.first()
    if membership is None:
        raise NotFound("There is no such member.")
    return membership


def addresses_to_alert(organization_id: UUID, kind: str, person_id: int | None) -> list[str]:
    """Where an alert goes: owners, admins and the person named, while they are members and want this kind."""
    told = Q(role__in=(OWNER, ADMIN)) | Q(user_id=person_id)
    wanting = Membership.objects.filter(told, organization_id=organization_id, user__is_active=True)
    return list(wanting.exclude(muted_alerts__contains=[kind]).order_by("pk").values_list("user__email", flat=True))
