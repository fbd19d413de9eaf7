"""People: what is done to an account by somebody else than its owner."""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction

from accounts.models import User
from accounts.services import audit
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest


def verify_address(*, user_id: int) -> None:
    """Take the person's own address as verified, for accounts made by whoever runs the installation."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    EmailAddress.objects.update_or_create(user_id=user_id, email=email, defaults={"verified": True, "primary": True})


@transaction.atomic
def reset_second_factor(*, user_id: int, actor: Actor, reason: str) -> None:
    """Remove every second factor of a person and end their sessions.

    Raises InvalidRequest (400) without a reason, Conflict (409) when there is none.
    """
    if not reason.strip():
        raise InvalidRequest("Give a reason; it is kept in the audit record.", param="reason")
    removed, _ = Authenticator.objects.filter(user_id=user_id).delete()
    if not removed:
        raise Conflict("This person has no second factor.")
    for session in UserSession.objects.filter(user_id=user_id):
        session.end()
    audit.record(
        organization_id=None, actor=actor, action="person.reset_second_factor", target=f"user:{user_id}", reason=reason
    )
