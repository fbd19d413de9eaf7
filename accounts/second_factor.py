"""The second factor: how its secrets are kept, and whether a session has passed one."""

import base64
import hashlib

from allauth.account.authentication import get_authentication_records
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.http import HttpRequest

from accounts.models import User

_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Allauth's adapter; secrets of authenticator apps and recovery codes are encrypted with a key of SECRET_KEY."""

    def encrypt(self, text: str) -> str:
        """What goes into the database."""
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """The secret again; keys of SECRET_KEY_FALLBACKS still open it."""
        return _box().decrypt(encrypted_text.encode()).decode()


def is_set_up(user: User) -> bool:
    """Whether the person has an authenticator app or a passkey."""
    return bool(is_mfa_enabled(user, _FACTORS))


def is_confirmed(request: HttpRequest, user: User) -> bool:
    """Whether this session passed a second factor of the person, or a passkey."""
    return any(record.get("method") == "mfa" for record in get_authentication_records(request, user))


def _box() -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derived(key)) for key in keys])


def _derived(secret: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(b"anex.second-factor:" + secret.encode()).digest())
