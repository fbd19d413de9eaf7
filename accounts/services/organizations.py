"""Organizations: created with their first owner, renamed, suspended, resumed, limited and routed by staff."""

from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.models import Membership, Organization
from accounts.services import audit, names
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest

MAX_IN_FLIGHT = 100_000


@transaction.atomic
def create(*, name: str, owner_id: int, actor: Actor) -> Organization:
    """A new organization with one owner; raises InvalidRequest (400) for an unusable name."""
    organization = Organization.objects.create(name=names.clean(name))
    Membership.objects.create(organization=organization, user_id=owner_id, role=Membership.Role.OWNER)
    audit.record(organization_id=organization.pk, actor=actor, action="organization.create")
    return organization


@transaction.atomic
def rename(*, organization_id: UUID, name: str, actor: Actor) -> None:
    """Another name, for its members alone: programs know the organization by its id.

    Raises InvalidRequest (400) for an unusable name. The same name again changes nothing.
    """
    wanted = names.clean(name)
    organization = Organization.objects.select_for_update(no_key=True).get(pk=organization_id)
    if organization.name == wanted:
        return
    details = {"name": wanted, "was": organization.name}
    organization.name = wanted
    organization.save(update_fields=["name"])
    audit.record(organization_id=organization_id, actor=actor, action="organization.rename", details=details)


@transaction.atomic
def suspend(*, organization_id: UUID, actor: Actor, reason: str) -> None:
    """Refuse every key of the organization from now on; running jobs finish.

    Raises InvalidRequest (400) without a reason, Conflict (409) when it is suspended already.
    """
    audit.require_reason(reason)
    changed = Organization.objects.filter(pk=organization_id, suspended_at=None).update(suspended_at=clock.now())
    if not changed:
        raise Conflict("This organization is suspended already.")
    audit.record(organization_id=organization_id, actor=actor, action="organization.suspend", reason=reason)


@transaction.atomic
def resume(*, organization_id: UUID, actor: Actor, reason: str) -> None:
    """Accept the organization's keys again.

    Raises InvalidRequest (400) without a reason, Conflict (409) when it is not suspended.
    """
    audit.require_reason(reason)
    changed = Organization.objects.filter(pk=organization_id).exclude(suspended_at=None).update(suspended_at=None)
    if not changed:
        raise Conflict("This organization is not suspended.")
    audit.record(organization_id=organization_id, actor=actor, action="organization.resume", reason=reason)


@transaction.atomic
def limit_in_flight(*, organization_id: UUID, limit: int | None, actor: Actor, reason: str) -> None:
    """Set how many realtime requests the organization may have at once; None is the installation's default.

    Raises InvalidRequest (400) without a reason or for a limit that is not between 1 and MAX_IN_FLIGHT.
    """
    audit.require_reason(reason)
    if limit is not None and not 1 <= limit <= MAX_IN_FLIGHT:
        raise InvalidRequest(f"The limit is a number from 1 to {MAX_IN_FLIGHT:,}.", param="limit")
    organization = Organization.objects.select_for_update(no_key=True).get(pk=organization_id)
    details = {"limit": limit, "was": organization.in_flight_limit}
    organization.in_flight_limit = limit
    organization.save(update_fields=["in_flight_limit"])
    audit.record(
        organization_id=organization_id, actor=actor, action="organization.limit", reason=reason, details=details
    )


@transaction.atomic
def route_to_eu(*, organization_id: UUID, enabled: bool, actor: Actor, reason: str) -> None:
    """Keep the batch data of new inputs and jobs in the EEA by default, and allow it there at all, or no longer.

    What is stored stays where it is. Raises InvalidRequest (400) without a reason or where nothing serves the EEA,
    Conflict (409) when it is so already.
    """
    audit.require_reason(reason)
    if enabled and settings.ANEX_REGION != "eu" and not settings.ANEX_OTHER_REGION_URL:
        raise InvalidRequest("No API serves the EEA: name it in ANEX_OTHER_REGION_URL first.")
    changed = Organization.objects.filter(pk=organization_id, eu_routing=not enabled).update(eu_routing=enabled)
    if not changed:
        raise Conflict("This organization's EU data routing is on already." if enabled else "It is off already.")
    action = f"organization.eu_routing_{'on' if enabled else 'off'}"
    audit.record(organization_id=organization_id, actor=actor, action=action, reason=reason)
