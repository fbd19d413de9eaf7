"""Signing up: a person gets an organization of their own, or the place they were invited to."""

from uuid import UUID

from allauth.account.adapter import DefaultAccountAdapter
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest

from accounts.models import Invitation, User
from accounts.services import invitations, names, organizations
from anex.core import clock
from anex.core.actors import Actor

# In the session of somebody who opened an invitation before they had an account: its id.
INVITATION = "invitation_id"


class SignUpAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Allauth's adapter: who signs up has an organization from the first moment."""

    def save_user(self, request: HttpRequest, user: User, form: BaseForm, commit: bool = True) -> User:
        """Save the person and, with them, the organization they own or join."""
        with transaction.atomic():
            saved: User = super().save_user(request, user, form, commit=commit)
            if commit and _join(request, saved):
                # Who opened the link we sent to an address has shown that it is theirs.
                self.stash_verified_email(request, saved.email)
        return saved


def _join(request: HttpRequest, person: User) -> bool:
    """Give a new person their place; returns whether an invitation to their address was it."""
    offer = _offer(request)
    if offer and offer.email == person.email.lower():
        invitations.accept(invitation_id=offer.pk, user_id=person.pk)
        return True
    organizations.create(name=names.from_email(person.email), owner_id=person.pk, actor=Actor("user", str(person.pk)))
    return False


def _offer(request: HttpRequest) -> Invitation | None:
    """The invitation this session opened, while it can still be accepted."""
    named = request.session.get(INVITATION)
    if not named:
        return None
    return Invitation.objects.filter(
        pk=UUID(named), accepted_at=None, revoked_at=None, expires_at__gt=clock.now()
    ).first()
