"""The second factor: how its secrets are kept, and whether a session has passed one."""

from allauth.account.authentication import get_authentication_records
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.http import HttpRequest

from accounts.models import User
from anex.core import sealing

_PURPOSE = "second-factor"
_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Allauth's adapter; secrets of authenticator apps and recovery codes are encrypted with a key of SECRET_KEY."""

    def encrypt(self, text: str) -> str:
        """What goes into the database."""
        return sealing.seal(text, purpose=_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        """The secret again; keys of SECRET_KEY_FALLBACKS still open it."""
        return sealing.unseal(encrypted_text, purpose=_PURPOSE)


def is_set_up(user: User) -> bool:
    """Whether the person has an authenticator app or a passkey."""
    return bool(is_mfa_enabled(user, _FACTORS))


def is_confirmed(request: HttpRequest, user: User) -> bool:
    """Whether this session passed a second factor of the person, or a passkey."""
    return any(record.get("method") == "mfa" for record in get_authentication_records(request, user))


def can_be_opened() -> bool:
    """Whether this process's SECRET_KEY opens the newest authenticator app; where there is none it does."""
    newest = Authenticator.objects.filter(type=Authenticator.Type.TOTP).order_by("created_at").last()
    return newest is None or sealing.can_open(newest.data["secret"], purpose=_PURPOSE)
