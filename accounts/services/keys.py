"""API keys: `sk-` + a 12-character id + a secret; only the SHA-256 of the whole is kept.

Every request reads the key's row, so that revoking, limiting or suspending takes effect at once in every process.
Rotating gives a key a new secret under the same id: limits and what it has spent stay, and the former secret
works until its overlap ends.
"""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.models import Q

from accounts.callers import Caller
from accounts.key_options import KeyOptions
from accounts.models import ApiKey
from accounts.selectors import plans
from accounts.services import audit, names
from anex.core import clock, log_ids
from anex.core.actors import Actor
from anex.core.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Unauthenticated,
    Unavailable,
    Unprocessable,
)

MAX_OVERLAP = timedelta(days=30)

_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 12
_SECRET_LENGTH = 40
_KEY = re.compile(rf"sk-([A-Za-z0-9]{{{_ID_LENGTH}}})[A-Za-z0-9]{{{_SECRET_LENGTH}}}")
_ID_ALONE = re.compile(rf"(?:sk-)?[A-Za-z0-9]{{{_ID_LENGTH}}}")
_LAST_USED_GRAIN = timedelta(minutes=1)

_INVALID: Final = "The API key is invalid or no longer active."
_MISSING: Final = "The Authorization header is missing. Send it as: Authorization: Bearer sk-…"
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
def create(*, organization_id: UUID, name: str, actor: Actor, options: KeyOptions | None = None) -> NewKey:
    """Make a key of the organization, without limits unless `options` name some.

    Raises InvalidRequest (400) for an unusable name or limit.
    """
    made = _new(_random(_ID_LENGTH))
    key = ApiKey(
        id=made.id,
        organization_id=organization_id,
        name=names.clean(name),
        secret_sha256=_digest(made.secret),
        last_four=made.secret[-4:],
        created_by_id=int(actor.id) if actor.kind in ("user", "staff") else None,
    )
    _limit(key, options or KeyOptions())
    key.save(force_insert=True)
    given = {name: value for name, value in _limits(key).items() if value is not None}
    _record("key.create", key, actor, details=given)
    return made


@transaction.atomic
def change(*, organization_id: UUID, key_id: str, name: str, options: KeyOptions, actor: Actor) -> None:
    """Give a key another name and other limits. Raises as `create`, NotFound (404), Conflict (409) once revoked."""
    key = _active(organization_id, key_id)
    was = _limits(key)
    key.name = names.clean(name)
    _limit(key, options)
    key.save()
    changed = {name: value for name, value in _limits(key).items() if value != was[name]}
    _record("key.change", key, actor, details=changed | {f"{name}_was": was[name] for name in changed})


@transaction.atomic
def rotate(*, organization_id: UUID, key_id: str, overlap: timedelta, actor: Actor) -> NewKey:
    """A new secret for the key; the one before works for `overlap` more, an older one no longer.

    Raises NotFound (404), Conflict (409) once revoked, InvalidRequest (400) for an overlap below zero or too long.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise InvalidRequest(f"The overlap is at most {MAX_OVERLAP.days} days.", param="overlap")
    key = _active(organization_id, key_id)
    made, now = _new(key.pk), clock.now()
    key.previous_sha256, key.previous_expires_at = bytes(key.secret_sha256), now + overlap
    key.secret_sha256, key.last_four, key.rotated_at = _digest(made.secret), made.secret[-4:], now
    key.save()
    _record("key.rotate", key, actor, details={"former_works_until": key.previous_expires_at.isoformat()})
    return made


@transaction.atomic
def end_overlap(*, organization_id: UUID, key_id: str, actor: Actor) -> None:
    """Refuse the former secret from now on. Raises NotFound (404), Conflict (409) when there is none that works."""
    key = _active(organization_id, key_id)
    if key.previous_expires_at is None or key.previous_expires_at <= clock.now():
        raise Conflict("The former secret of this key does not work any more.")
    key.previous_sha256, key.previous_expires_at = None, None
    key.save(update_fields=["previous_sha256", "previous_expires_at"])
    _record("key.end_overlap", key, actor)


@transaction.atomic
def revoke(*, organization_id: UUID, key_id: str, actor: Actor, reason: str = "") -> None:
    """Refuse the key from now on; raises NotFound (404) or Conflict (409) when it is revoked already."""
    key = _active(organization_id, key_id)
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])
    _record("key.revoke", key, actor, reason=reason)


def authenticate(header: str | None) -> Caller:
    """The caller behind an `Authorization` header's value.

    Raises Unauthenticated (401) for a missing, malformed, unknown, expired or revoked key, Forbidden (403, code
    `org_suspended`) for a suspended organization, Unavailable (503) when the key cannot be looked up.
    """
    key_id, digest = credential(header)
    now = clock.now()
    try:
        key = plans.beside(ApiKey.objects.select_related("organization")).filter(pk=key_id).first()
        if key is None or not _opens(key, digest, now) or key.revoked_at or _is_over(key.expires_at, now):
            raise invalid()
        if key.organization.suspended_at:
            raise suspended()
        _touch(key, now)
    except OperationalError as error:
        raise Unavailable("The API key could not be checked just now. Try again.", retry_after=1) from error
    log_ids.add(organization=key.organization_id)
    models = None if key.allowed_models is None else frozenset(key.allowed_models)
    return Caller(key.pk, key.organization_id, frozenset(key.scopes), models, plans.read(key))


def credential(header: str | None) -> tuple[str, bytes]:
    """The id of the key in an `Authorization` header's value, and the digest of the whole; Unauthenticated (401)."""
    secret = _secret_of(header)
    return secret[3 : 3 + _ID_LENGTH], _digest(secret)


def invalid() -> Unauthenticated:
    """The 401 of a key that opens nothing; it does not say why."""
    return Unauthenticated(_INVALID)


def missing() -> Unprocessable:
    """The 422 of a request without the header, where that is no 401 (reference 001, errors)."""
    return Unprocessable(_MISSING, param="Authorization")


def suspended() -> Forbidden:
    """The 403 of every key of a suspended organization."""
    return Forbidden(_SUSPENDED, code="org_suspended")


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


def _opens(key: ApiKey, digest: bytes, now: datetime) -> bool:
    current = hmac.compare_digest(bytes(key.secret_sha256), digest)
    former = hmac.compare_digest(bytes(key.previous_sha256 or b""), digest)
    return current or (former and not _is_over(key.previous_expires_at, now))


def _is_over(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now


def _active(organization_id: UUID, key_id: str) -> ApiKey:
    key = ApiKey.objects.select_for_update().filter(pk=key_id, organization_id=organization_id).first()
    if key is None:
        raise NotFound("There is no such key.")
    if key.revoked_at:
        raise Conflict("This key is revoked already.")
    return key


def _limit(key: ApiKey, options: KeyOptions) -> None:
    options.check(now=clock.now())
    key.scopes = sorted(options.scopes)
    key.allowed_models = None if options.models is None else sorted(options.models)
    key.expires_at = options.expires_at
    key.daily_ceiling_cents = options.daily_ceiling_cents
    key.weekly_ceiling_cents = options.weekly_ceiling_cents
    key.monthly_ceiling_cents = options.monthly_ceiling_cents


def _limits(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "scopes": key.scopes,
        "models": key.allowed_models,
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "daily_ceiling_cents": key.daily_ceiling_cents,
        "weekly_ceiling_cents": key.weekly_ceiling_cents,
        "monthly_ceiling_cents": key.monthly_ceiling_cents,
    }


def _record(action: str, key: ApiKey, actor: Actor, **more: Any) -> None:
    audit.record(organization_id=key.organization_id, actor=actor, action=action, target=key.pk, **more)


def _touch(key: ApiKey, now: datetime) -> None:
    """Move `last_used_at` at most once a minute, however many processes see the key."""
    if key.last_used_at and key.last_used_at > now - _LAST_USED_GRAIN:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - _LAST_USED_GRAIN)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)


def _new(key_id: str) -> NewKey:
    return NewKey(key_id, f"sk-{key_id}{_random(_SECRET_LENGTH)}")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
