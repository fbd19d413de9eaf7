"""What people change about how they sign in, kept in the audit record of the installation; what ends with a session."""

from typing import Any

from allauth.account import signals as account
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_out
from django.db.models.signals import post_delete
from django.dispatch import receiver

from accounts.models import User
from accounts.services import audit, playground
from anex.core.actors import Actor


def _record(user: User, action: str, **details: str) -> None:
    audit.record(
        organization_id=None,
        actor=Actor("user", str(user.pk)),
        action=f"person.{action}",
        target=f"user:{user.pk}",
        details=details,
    )


@receiver(account.password_changed)
@receiver(account.password_set)
def password_changed(user: User, **_: Any) -> None:
    """By somebody who is signed in."""
    playground.close(user_id=user.pk)
    _record(user, "change_password")


@receiver(account.password_reset)
def password_reset(user: User, **_: Any) -> None:
    """Through a link in a mail."""
    playground.close(user_id=user.pk)
    _record(user, "reset_password")


@receiver(account.email_changed)
def email_changed(user: User, **_: Any) -> None:
    """Another address is the primary one."""
    _record(user, "change_email")


@receiver(mfa.authenticator_added)
def factor_added(user: User, authenticator: Authenticator, **_: Any) -> None:
    """An app, a key or recovery codes."""
    _record(user, "add_factor", type=str(authenticator.type))


@receiver(mfa.authenticator_removed)
def factor_removed(user: User, authenticator: Authenticator, **_: Any) -> None:
    """The reverse."""
    _record(user, "remove_factor", type=str(authenticator.type))


@receiver(user_logged_out)
def signed_out(user: User | None, **_: Any) -> None:
    """In one browser; the playground of another asks for a new secret."""
    if user is not None:
        playground.close(user_id=user.pk)


@receiver(post_delete, sender=UserSession)
def session_ended(instance: UserSession, **_: Any) -> None:
    """From the list of sessions, by staff, or because it was over."""
    playground.close(user_id=instance.user_id)
