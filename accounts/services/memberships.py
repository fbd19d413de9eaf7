"""Who is in an organization and in which role.

Every write locks the organization's row first, so that two of them never both take the last owner away; the
actor's own role is read again under that lock. Staff and the platform may do everything.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from accounts.alert_kinds import Kind
from accounts.models import Membership, Organization
from accounts.permissions import OWNER, ROLES, Action, managing, may
from accounts.selectors import memberships
from accounts.services import audit, playground
from anex.core.actors import Actor
from anex.core.errors import Conflict, Forbidden, InvalidRequest


@transaction.atomic
def join(*, organization_id: UUID, user_id: int, role: str, actor: Actor) -> None:
    """Add a person; Conflict when they are in the organization already."""
    lock(organization_id)
    _, created = Membership.objects.get_or_create(
        organization_id=organization_id, user_id=user_id, defaults={"role": known(role)}
    )
    if not created:
        raise Conflict("This person is in the organization already.")
    _record("member.join", organization_id, user_id, actor, role=role)


@transaction.atomic
def change_role(*, organization_id: UUID, user_id: int, role: str, actor: Actor) -> None:
    """Give a member another role.

    NotFound for somebody else, Forbidden when the actor may not give the new role or take the old one, Conflict
    for the last owner.
    """
    lock(organization_id)
    membership = memberships.get(organization_id, user_id)
    was = membership.role
    require(organization_id, actor, managing(known(role)), managing(was))
    if role == was:
        return
    if was == OWNER:
        _keep_an_owner(organization_id, "Make somebody else an owner first.")
    _set_role(membership, role)
    _record("member.role", organization_id, user_id, actor, role=role, was=was)


@transaction.atomic
def remove(*, organization_id: UUID, user_id: int, actor: Actor) -> None:
    """Take a member out. Raises as `change_role`; the keys they made stay, since keys belong to the organization.

    The one their browser called with in the playground does not.
    """
    lock(organization_id)
    membership = memberships.get(organization_id, user_id)
    require(organization_id, actor, managing(membership.role))
    _take_out(membership)
    _record("member.remove", organization_id, user_id, actor, was=membership.role)


@transaction.atomic
def leave(*, organization_id: UUID, user_id: int, actor: Actor) -> None:
    """Take oneself out; Conflict for the last owner."""
    lock(organization_id)
    membership = memberships.get(organization_id, user_id)
    _take_out(membership)
    _record("member.leave", organization_id, user_id, actor, was=membership.role)


@transaction.atomic
def transfer_ownership(*, organization_id: UUID, user_id: int, actor: Actor) -> None:
    """Make a member an owner in place of the acting owner, who becomes an admin.

    NotFound for somebody else, Forbidden unless the actor is an owner, Conflict for oneself.
    """
    lock(organization_id)
    heir = memberships.get(organization_id, user_id)
    require(organization_id, actor, Action.MANAGE_OWNERS)
    giver = memberships.get(organization_id, int(actor.id))
    if giver.pk == heir.pk:
        raise Conflict("You own this organization already.")
    _set_role(heir, Membership.Role.OWNER)
    _set_role(giver, Membership.Role.ADMIN)
    _record("ownership.transfer", organization_id, user_id, actor, giver=giver.user_id)


@transaction.atomic
def choose_alerts(*, organization_id: UUID, user_id: int, wanted: Collection[str], actor: Actor) -> None:
    """Tell a member by e-mail about these kinds of `alert_kinds` only. NotFound, InvalidRequest for an unknown kind."""
    if unknown := sorted(set(wanted) - set(Kind)):
        raise InvalidRequest(f"There is no alert {unknown[0]}.", param="wanted")
    membership = memberships.get(organization_id, user_id)
    muted = [str(kind) for kind in Kind if kind not in wanted]
    Membership.objects.filter(pk=membership.pk).update(muted_alerts=muted)
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="member.alerts",
        target=f"user:{user_id}",
        details={"muted": muted},
    )


def lock(organization_id: UUID) -> None:
    """Order this transaction's changes of members after those under way."""
    Organization.objects.select_for_update(no_key=True).get(pk=organization_id)


def require(organization_id: UUID, actor: Actor, *actions: Action) -> None:
    """Forbidden (403) unless the acting person's present role includes every action."""
    if actor.kind != "user":
        return
    role = Membership.objects.filter(organization_id=organization_id, user_id=int(actor.id)).values_list("role")
    held = (role.first() or ("",))[0]
    if not all(may(held, action) for action in actions):
        raise Forbidden("Your role in this organization does not include it. Ask an owner.")


def known(role: str) -> str:
    """The role; InvalidRequest (400) for a word that is none."""
    if role not in ROLES:
        raise InvalidRequest("Choose owner, admin or member.", param="role")
    return role


def _take_out(membership: Membership) -> None:
    if membership.role == OWNER:
        _keep_an_owner(membership.organization_id, "Transfer ownership first.")
    playground.close(user_id=membership.user_id, organization_id=membership.organization_id)
    membership.delete()


def _keep_an_owner(organization_id: UUID, advice: str) -> None:
    if Membership.objects.filter(organization_id=organization_id, role=OWNER).count() < 2:
        raise Conflict(f"An organization keeps at least one owner. {advice}")


def _set_role(membership: Membership, role: str) -> None:
    membership.role = role
    membership.save(update_fields=["role"])


def _record(action: str, organization_id: UUID, user_id: int, actor: Actor, **details: object) -> None:
    audit.record(organization_id=organization_id, actor=actor, action=action, target=f"user:{user_id}", details=details)
