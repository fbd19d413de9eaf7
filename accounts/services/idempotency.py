"""Idempotency keys: a request sent again has no second effect and is answered as the first one was.

A key counts from the commit of its effect, in whose transaction it is written: what was refused or rolled back leaves
no trace, and its key may be used again. Keys are kept as digests, for what a customer names is not ours to read.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.db import OperationalError, connection
from django.db.models import QuerySet
from psycopg.errors import LockNotAvailable

from accounts.models import Idempotency
from anex.core import clock
from anex.core.errors import Conflict, InvalidRequest

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
WAIT_S = 5
_KEY = re.compile(r"[\x20-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that may be sent again: what it does, under which key, and the digest of what it says."""

    organization_id: UUID
    operation: str
    key_sha256: bytes
    body_sha256: bytes


def attempt(*, organization_id: UUID, operation: str, key: str, body: bytes) -> Attempt:
    """The attempt a request makes; `body` is everything that decides its effect. InvalidRequest for a malformed key."""
    if not _KEY.fullmatch(key):
        raise InvalidRequest(f"{HEADER} must be 1 to 255 printable ASCII characters.", param=HEADER)
    return Attempt(organization_id, operation, sha256(key.encode()).digest(), sha256(body).digest())


def find(attempt: Attempt) -> str | None:
    """What an earlier attempt led to, None for the first one. Conflict where the key came with another request."""
    row = _places(attempt).filter(created_at__gt=clock.now() - KEPT).first()
    return _reference(row, attempt) if row else None


def claim(attempt: Attempt, *, reference: str) -> str:
    """Write down, in the transaction of the effect, that the attempt leads to `reference`; the reference that counts.

    Another one comes back where an earlier attempt was first: then the caller must roll back. Waits up to WAIT_S
    for a transaction with the same key. Raises Conflict as `find`, and when that one is not over by then.
    """
    now = clock.now()
    try:
        _limit_wait(f"{WAIT_S}s")
        _places(attempt).filter(created_at__lte=now - KEPT).delete()
        row = Idempotency(
            organization_id=attempt.organization_id,
            operation=attempt.operation,
            key_sha256=attempt.key_sha256,
            body_sha256=attempt.body_sha256,
            reference=reference,
            created_at=now,
        )
        Idempotency.objects.bulk_create([row], ignore_conflicts=True)
        _limit_wait("0")
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            _refuse_unfinished()
        raise
    standing = _places(attempt).first()
    return _reference(standing, attempt) if standing else _refuse_unfinished()


def forget_expired(now: datetime) -> int:
    """Delete the keys whose time is over by `now`; returns how many."""
    forgotten, _ = Idempotency.objects.filter(created_at__lte=now - KEPT).delete()
    return forgotten


def _places(attempt: Attempt) -> QuerySet[Idempotency]:
    return Idempotency.objects.filter(
        organization_id=attempt.organization_id, operation=attempt.operation, key_sha256=attempt.key_sha256
    )


def _reference(row: Idempotency, attempt: Attempt) -> str:
    if bytes(row.body_sha256) != attempt.body_sha256:
        code = "idempotency_key_reused"
        message = f"This {HEADER} was used in the last 24 hours with another request. Use a new key for a new request."
        raise Conflict(message, code=code, param=HEADER, extra={"code": code})
    return row.reference


def _refuse_unfinished() -> str:
    code = "idempotency_key_in_use"
    message = f"A request with this {HEADER} is being handled. Send it again in a moment."
    raise Conflict(message, code=code, param=HEADER, retry_after=1, extra={"code": code})


def _limit_wait(limit: str) -> None:
    """How long each lock is waited for, until the next call or the end of this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [limit])
