"""What people change about how they sign in, kept in the audit record of the installation."""

from typing import Any

from allauth.account import signals as account
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from django.dispatch import receiver

from accounts.models import User
from accounts.services import audit
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
    _record(user, "change_password")


@receiver(account.password_reset)
def password_reset(user: User, **_: Any) -> None:
    """Through a link in a mail."""
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
