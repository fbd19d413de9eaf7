"""Copies an input from its URL into the store: claimed like a chunk, committed once, by whoever holds the claim then.

Every attempt writes under a key of its own and only the committed one is named by the input, so a worker that lost its
claim, or comes back late, changes nothing. What attempts leave behind goes with the input's other leftovers.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection, transaction

from anex.core import clock, safe_http
from anex.core.destinations import RefusedUrl, Unreachable
from anex.core.errors import AnexError, TooLarge
from jobs import storage
from jobs.models import Ingest, Input
from jobs.run import callbacks
from jobs.run.claims import FREE, OF_ALL, Interrupted
from jobs.run.lease import Lease
from jobs.selectors import contents
from jobs.selectors.contents import IngestFailure
from jobs.services.inputs import MAX_INPUT_BYTES, RETENTION
from jobs.storage import keys
from jobs.storage.interface import Stored, StoreUnavailable

log = logging.getLogger(__name__)

COPY_LIMIT_S = 3600.0
IDLE_LIMIT_S = 20.0
# After its first minute a source must have kept this pace, or it would hold a place for an hour.
GRACE_S = 60.0
SLOWEST_BYTES_PER_S = 16 * 1024
# Waits after attempts that met a passing fault; the attempt after the last one is final.
WAITS_S = (5, 20, 60, 180, 600)
MOST_ATTEMPTS = 20  # whatever became of them: workers that died included
MOST_AT_ONCE = 2  # of one organization: sources that are slow on purpose delay nobody else
OK, TOO_EARLY, TIMEOUT, THROTTLED, SERVER_ERRORS = 200, 425, 408, 429, 500

# What is locked is looked at once more, as in `claims.CLAIM`.
CLAIM = f"""
WITH near AS MATERIALIZED (
    SELECT c.id, c.epoch, c.due_at
    FROM jobs_ingest c
    JOIN jobs_input i ON i.id = c.input_id
    LEFT JOIN jobs_worker w ON w.id = c.epoch
    WHERE NOT c.closed AND c.due_at <= %(now)s AND i.region = %(region)s
      AND {FREE}
      AND %(most)s > (
          SELECT count(*) FROM jobs_ingest o JOIN jobs_input p ON p.id = o.input_id JOIN jobs_worker v ON v.id = o.epoch
          WHERE NOT o.closed AND o.id <> c.id AND p.organization_id = i.organization_id
            AND v.heartbeat_at >= now() - %(lease)s * interval '1 second')
    ORDER BY c.due_at
    LIMIT {OF_ALL}
), free AS (
    SELECT c.id
    FROM near
    JOIN jobs_ingest c ON c.id = near.id
    WHERE NOT c.closed AND c.due_at <= %(now)s AND c.epoch IS NOT DISTINCT FROM near.epoch
    ORDER BY near.due_at
    LIMIT 1
    FOR UPDATE OF c SKIP LOCKED
)
UPDATE jobs_ingest c SET epoch = %(epoch)s, attempts = LEAST(attempts + 1, 1000)
FROM free WHERE c.id = free.id
RETURNING c.id, c.epoch, c.input_id, c.attempts, c.traceparent
"""  # noqa: S608


class _SourceRefused(AnexError):
    """The source's answer is no file, and asking again will not change that."""


@dataclass(frozen=True, slots=True)
class IngestClaim:
    """A copy held by this worker."""

    id: int
    epoch: int
    input_id: UUID
    attempts: int
    traceparent: str


def claim(lease: Lease, *, region: str, held: Collection[int]) -> IngestClaim | None:
    """A copy that is due and nobody's; its input is `copying` from then on. `held` are those this worker is at."""
    values: dict[str, Any] = {
        "now": clock.now(),
        "region": region,
        "epoch": lease.epoch,
        "held": list(held),
        "lease": lease.seconds,
        "reclaim": lease.may_reclaim(),
        "most": MOST_AT_ONCE,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CLAIM, values)
        row = cursor.fetchone()
        if row is None:
            return None
        found = IngestClaim(*row)
        Input.objects.filter(pk=found.input_id, status=Input.State.PENDING).update(status=Input.State.COPYING)
        return found


def run(claim: IngestClaim, *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Copy, tell, tidy up; safe to repeat after a kill anywhere.

    Raises Interrupted soon after `go_on` says no, and StoreUnavailable.
    """
    source = Input.objects.get(pk=claim.input_id)
    request = contents.ingest_request(source)
    if source.status == Input.State.COPYING:
        url = request.source_url if request else None
        if not _copy(claim, source, url, go_on):
            return
        source.refresh_from_db()
    told = source.status in (Input.State.READY, Input.State.FAILED)
    if told and request and request.callback_url and request.callback_secret:
        callbacks.send(source, url=request.callback_url, secret=request.callback_secret)
    if _held(claim).update(closed=True, epoch=None):
        _tidy(source)


def give_back(claim: IngestClaim, *, wait_s: float, blameless: bool) -> None:
    """Leave the copy to the next attempt, if it is still held; a blameless one does not count."""
    attempts = claim.attempts - 1 if blameless else claim.attempts
    _held(claim).update(epoch=None, attempts=attempts, due_at=clock.now() + timedelta(seconds=wait_s))


def _copy(claim: IngestClaim, source: Input, url: str | None, go_on: Callable[[], bool]) -> bool:
    """Whether the copy has ended, in whichever way, by this attempt."""
    if url is None or claim.attempts > MOST_ATTEMPTS:
        return _fail(claim, source, "The file could not be copied. Please create a new input or contact support.")
    try:
        stored = _fetch(source, url, go_on)
    except (RefusedUrl, TooLarge, _SourceRefused) as error:
        return _fail(claim, source, error.message)
    except Unreachable as error:
        if claim.attempts > len(WAITS_S):
            return _fail(claim, source, f"{error.message} It was tried {claim.attempts} times.")
        log.info("copy of input %s has to wait after attempt %d", source.pk, claim.attempts)
        give_back(claim, wait_s=WAITS_S[claim.attempts - 1], blameless=False)
        return False
    ready = {"key": stored.key, "etag": stored.etag, "size_bytes": stored.size}
    if _settle(claim, status=Input.State.READY, **ready):
        return True
    storage.store(source.region).delete([stored.key])
    return False


def _fetch(source: Input, url: str, go_on: Callable[[], bool]) -> Stored:
    """The file as this attempt wrote it; a block of it is in memory at a time."""
    key = keys.ingest_attempt(source.organization_id, source.pk, source.format)
    with safe_http.stream_get(
        url, total_timeout_s=COPY_LIMIT_S, idle_timeout_s=IDLE_LIMIT_S, max_bytes=MAX_INPUT_BYTES
    ) as answer:
        _refuse_status(answer.status)
        length = answer.headers.get("content-length", "")
        total_bytes = int(length) if length.isdecimal() else MAX_INPUT_BYTES
        with storage.store(source.region).writer(key, total_bytes=total_bytes) as writer:
            for block in _paced(answer.blocks):
                if not go_on():
                    raise Interrupted
                writer.write(block)
    return writer.stored


def _paced(blocks: Iterator[bytes]) -> Iterator[bytes]:
    began_at, received = clock.monotonic(), 0
    for block in blocks:
        received += len(block)
        elapsed = clock.monotonic() - began_at
        if elapsed > GRACE_S and received < elapsed * SLOWEST_BYTES_PER_S:
            raise Unreachable("The source sends too slowly.")
        yield block


def _refuse_status(status: int) -> None:
    if status in (TIMEOUT, TOO_EARLY, THROTTLED) or status >= SERVER_ERRORS:
        raise Unreachable(f"The source answered with status {status}.")
    if status != OK:
        hint = " Redirects are not followed." if 300 <= status < 400 else ""
        raise _SourceRefused(f"The source answered with status {status}, not with a file.{hint}")


def _fail(claim: IngestClaim, source: Input, reason: str) -> bool:
    """Ends a copy that cannot be made; the sentence goes to the store."""
    key = keys.ingest_failure(source.organization_id, source.pk)
    storage.store(source.region).put(key, msgspec.json.encode(IngestFailure(reason)))
    return _settle(claim, status=Input.State.FAILED)


def _settle(claim: IngestClaim, **change: Any) -> bool:
    """Commit the outcome if the claim is still held; what there is then is kept for RETENTION."""
    with transaction.atomic():
        if _held(claim).select_for_update().first() is None:
            return False
        copying = Input.objects.filter(pk=claim.input_id, status=Input.State.COPYING)
        return bool(copying.update(**change, expires_at=clock.now() + RETENTION))


def _tidy(source: Input) -> None:
    """Delete what nobody needs any more: URLs, the secret, other attempts. If it fails the input's purge does it."""
    kept = {source.key, keys.ingest_failure(source.organization_id, source.pk)}
    objects = storage.store(source.region)
    with suppress(StoreUnavailable):
        found = objects.list(keys.ingest_prefix(source.organization_id, source.pk))
        objects.delete([stored.key for stored in found if stored.key not in kept])


def _held(claim: IngestClaim) -> Any:
    return Ingest.objects.filter(pk=claim.id, epoch=claim.epoch, closed=False)
