"""Invitations by e-mail: the link carries a signed random token that exists nowhere else.

The address must be one of the person who accepts: a forwarded link lets nobody else in.
"""

import secrets
from datetime import timedelta
from uuid import UUID

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.db import transaction
from django.template.loader import render_to_string

from accounts.models import Invitation, Membership, User
from accounts.permissions import managing
from accounts.selectors import invitations
from accounts.services import audit, memberships
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, Forbidden, InvalidRequest, TooManyRequests

VALID_FOR = timedelta(days=7)
RESEND_AFTER = timedelta(minutes=1)
MAX_OPEN = 50


@transaction.atomic
def create(*, organization_id: UUID, email: str, role: str, actor: Actor) -> Invitation:
    """Offer an address a place and send the link once this is committed; an older open offer to it is replaced.

    InvalidRequest for a broken address or role, Forbidden when the actor may not give the role, Conflict for a
    member or when too many offers are open, TooManyRequests within a minute of the last e-mail to the address.
    """
    memberships.lock(organization_id)
    memberships.require(organization_id, actor, managing(memberships.known(role)))
    address = _address(email)
    if Membership.objects.filter(organization_id=organization_id, user__email=address).exists():
        raise Conflict("This person is in the organization already.")
    _replace(organization_id, address)
    invitation = Invitation(organization_id=organization_id, email=address, role=role)
    invitation.invited_by_id = int(actor.id) if actor.kind == "user" else None
    _send(invitation)
    _record("invitation.create", invitation, actor)
    return invitation


@transaction.atomic
def resend(*, organization_id: UUID, invitation_id: UUID, actor: Actor) -> Invitation:
    """Send a fresh link with a fresh expiry; the former link stops working. Raises as `create`, and NotFound."""
    invitation = _open(organization_id, invitation_id, actor)
    _not_too_soon(invitation)
    _send(invitation)
    _record("invitation.resend", invitation, actor)
    return invitation


@transaction.atomic
def revoke(*, organization_id: UUID, invitation_id: UUID, actor: Actor) -> Invitation:
    """Take the offer back; its link stops working. NotFound unless it is open, Forbidden as `create`."""
    invitation = _open(organization_id, invitation_id, actor)
    invitation.revoked_at = clock.now()
    invitation.save(update_fields=["revoked_at"])
    _record("invitation.revoke", invitation, actor)
    return invitation


@transaction.atomic
def accept(*, invitation_id: UUID, user_id: int) -> Invitation:
    """Take the offered place.

    NotFound for an unknown invitation, Conflict for one that was taken, revoked or has expired and for a member,
    Forbidden when the address is not the person's.
    """
    found = Invitation.objects.filter(pk=invitation_id).values_list("organization_id", flat=True).first()
    if found is None:
        invitations.refuse_unknown()
    else:
        memberships.lock(found)
    invitation = Invitation.objects.get(pk=invitation_id)
    refuse_closed(invitation)
    if not owns_address(user_id, invitation.email):
        raise Forbidden(f"This invitation was sent to {invitation.email}. Sign in with that address.")
    actor = Actor("user", str(user_id))
    memberships.join(organization_id=invitation.organization_id, user_id=user_id, role=invitation.role, actor=actor)
    invitation.accepted_at = clock.now()
    invitation.save(update_fields=["accepted_at"])
    return invitation


def refuse_closed(invitation: Invitation) -> None:
    """Conflict, in a sentence that says why, for an invitation that can no longer be accepted."""
    if invitation.accepted_at:
        raise Conflict("This invitation has been accepted already.")
    if invitation.revoked_at:
        raise Conflict("This invitation was taken back. Ask for a new one.")
    if invitation.expires_at <= clock.now():
        raise Conflict("This invitation has expired. Ask for a new one.")


def owns_address(user_id: int, email: str) -> bool:
    """Whether the address is the person's own, or a further one they have verified."""
    return (
        User.objects.filter(pk=user_id, email=email).exists()
        or EmailAddress.objects.filter(user_id=user_id, email__iexact=email, verified=True).exists()
    )


def _address(email: str) -> str:
    address = email.strip().lower()
    try:
        validate_email(address)
    except ValidationError as error:
        raise InvalidRequest("Enter an e-mail address.", param="email") from error
    return address


def _replace(organization_id: UUID, address: str) -> None:
    still_open = Invitation.objects.filter(organization_id=organization_id, accepted_at=None, revoked_at=None)
    former = still_open.filter(email=address).first()
    if former:
        _not_too_soon(former)
        former.revoked_at = clock.now()
        former.save(update_fields=["revoked_at"])
    elif still_open.filter(expires_at__gt=clock.now()).count() >= MAX_OPEN:
        raise Conflict(f"{MAX_OPEN} invitations are open. Revoke some of them first.")


def _not_too_soon(invitation: Invitation) -> None:
    wait = (invitation.sent_at + RESEND_AFTER - clock.now()).total_seconds()
    if wait > 0:
        raise TooManyRequests("An e-mail went to this address a moment ago. Wait a minute.", retry_after=int(wait) + 1)


def _open(organization_id: UUID, invitation_id: UUID, actor: Actor) -> Invitation:
    memberships.lock(organization_id)
    found = Invitation.objects.filter(
        pk=invitation_id, organization_id=organization_id, accepted_at=None, revoked_at=None
    )
    invitation = found.first() or invitations.refuse_unknown()
    memberships.require(organization_id, actor, managing(invitation.role))
    return invitation


def _send(invitation: Invitation) -> None:
    """Give the invitation a new token and expiry; the e-mail leaves when the transaction has committed."""
    token = signing.Signer(salt=invitations.SALT).sign(secrets.token_urlsafe(32))
    invitation.token_sha256 = invitations.digest(token)
    invitation.sent_at = clock.now()
    invitation.expires_at = invitation.sent_at + VALID_FOR
    invitation.save()
    context = {
        "organization": invitation.organization.name,
        "inviter": invitation.invited_by.email if invitation.invited_by else "Anex",
        "role": invitation.role,
        "link": f"{settings.ANEX_PUBLIC_URL}/invitations/{token}",
        "days": VALID_FOR.days,
    }
    text = render_to_string("accounts/email/invitation.txt", context)
    # The name is free text: a line break in it must not become a header. It has none (services.names).
    subject = f"Join {invitation.organization.name} on Anex"
    transaction.on_commit(lambda: send_mail(subject, text, None, [invitation.email]), robust=True)


def _record(action: str, invitation: Invitation, actor: Actor) -> None:
    audit.record(
        organization_id=invitation.organization_id,
        actor=actor,
        action=action,
        target=str(invitation.pk),
        details={"email": invitation.email, "role": invitation.role},
    )
