"""Secrets that must be readable again are kept encrypted, with a key derived from SECRET_KEY for each purpose."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


def seal(text: str, *, purpose: str) -> str:
    """What goes into the database; `purpose` keeps secrets of one kind from being read as another's."""
    return seal_bytes(text.encode(), purpose=purpose).decode()


def unseal(sealed: str, *, purpose: str) -> str:
    """The secret again; keys of SECRET_KEY_FALLBACKS still open it. Raises cryptography's InvalidToken."""
    return unseal_bytes(sealed.encode(), purpose=purpose).decode()


def can_open(sealed: str, *, purpose: str) -> bool:
    """Whether `unseal` would."""
    try:
        unseal(sealed, purpose=purpose)
    except InvalidToken:
        return False
    return True


def seal_bytes(data: bytes, *, purpose: str) -> bytes:
    """As `seal`."""
    return _box(purpose).encrypt(data)


def unseal_bytes(sealed: bytes, *, purpose: str) -> bytes:
    """As `unseal`."""
    return _box(purpose).decrypt(sealed)


def _box(purpose: str) -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derived(key, purpose)) for key in keys])


def _derived(secret: str, purpose: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(f"anex.{purpose}:{secret}".encode()).digest())
