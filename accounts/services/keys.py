"""API keys: `sk-` + a 12-character id + a secret; only the SHA-256 of the whole is kept.

Every request reads the key's row, so that revoking or suspending takes effect at once in every process.
"""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.models import Q

from accounts.callers import EVERY_SCOPE, Caller
from accounts.models import ApiKey
from accounts.services import audit, names
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, Forbidden, NotFound, Unauthenticated, Unavailable

_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 12
_SECRET_LENGTH = 40
_KEY = re.compile(rf"sk-([A-Za-z0-9]{{{_ID_LENGTH}}})[A-Za-z0-9]{{{_SECRET_LENGTH}}}")
_ID_ALONE = re.compile(rf"(?:sk-)?[A-Za-z0-9]{{{_ID_LENGTH}}}")
_LAST_USED_GRAIN = timedelta(minutes=1)

_INVALID: Final = "The API key is invalid or no longer active."
_NO_KEY: Final = "Send your API key as the header Authorization: Bearer sk-…"
_KEY_ID: Final = (
    "This is a key id, not a key. Send the whole key that was shown when it was created; it starts with sk-."
)
_SUSPENDED: Final = "This organization is suspended because of a billing issue. Contact support to resolve it."


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; `secret` is the whole key and exists nowhere else."""

    id: str
    secret: str = field(repr=False)


@transaction.atomic
def create(*, organization_id: UUID, name: str, actor: Actor) -> NewKey:
    """Make a key of the organization; raises InvalidRequest (400) for an unusable name."""
    key_id = _random(_ID_LENGTH)
    secret = f"sk-{key_id}{_random(_SECRET_LENGTH)}"
    ApiKey.objects.create(
        id=key_id,
        organization_id=organization_id,
        name=names.clean(name),
        secret_sha256=_digest(secret),
        last_four=secret[-4:],
        created_by_id=int(actor.id) if actor.kind in ("user", "staff") else None,
    )
    audit.record(organization_id=organization_id, actor=actor, action="key.create", target=key_id)
    return NewKey(key_id, secret)


@transaction.atomic
def revoke(*, organization_id: UUID, key_id: str, actor: Actor, reason: str = "") -> None:
    """Refuse the key from now on; raises NotFound (404) or Conflict (409) when it is revoked already."""
    key = ApiKey.objects.select_for_update().filter(pk=key_id, organization_id=organization_id).first()
    if key is None:
        raise NotFound("There is no such key.")
    if key.revoked_at:
        raise Conflict("This key is revoked already.")
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])
    audit.record(organization_id=organization_id, actor=actor, action="key.revoke", target=key_id, reason=reason)


def authenticate(header: str | None) -> Caller:
    """The caller behind an `Authorization` header's value.

    Raises Unauthenticated (401) for a missing, malformed, unknown or revoked key, Forbidden (403, code
    `org_suspended`) for a suspended organization, Unavailable (503) when the key cannot be looked up.
    """
    secret = _secret_of(header)
    try:
        key = ApiKey.objects.select_related("organization").filter(pk=secret[3 : 3 + _ID_LENGTH]).first()
        known = key is not None and hmac.compare_digest(bytes(key.secret_sha256), _digest(secret))
        if key is None or not known or key.revoked_at:
            raise Unauthenticated(_INVALID)
        if key.organization.suspended_at:
            raise Forbidden(_SUSPENDED, code="org_suspended")
        _touch(key)
    except OperationalError as error:
        raise Unavailable("The API key could not be checked just now. Try again.", retry_after=1) from error
    return Caller(key.pk, key.organization_id, EVERY_SCOPE)


def _secret_of(header: str | None) -> str:
    scheme, _, credential = (header or "").strip().partition(" ")
    credential = credential.strip()
    if scheme.lower() != "bearer" or not credential:
        raise Unauthenticated(_NO_KEY)
    if _ID_ALONE.fullmatch(credential):
        raise Unauthenticated(_KEY_ID)
    if not _KEY.fullmatch(credential):
        raise Unauthenticated(_INVALID)
    return credential


def _touch(key: ApiKey) -> None:
    """Move `last_used_at` at most once a minute, however many processes see the key."""
    now = clock.now()
    if key.last_used_at and key.last_used_at > now - _LAST_USED_GRAIN:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - _LAST_USED_GRAIN)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
