"""Who works on which chunk. Every statement here is a guard of the part protocol (tests/jobs/run/test_protocol.py).

A claim takes the job's row FOR SHARE, so it cannot cross a change of the job's status; a chunk is free when nobody
holds it, when its holder is no longer listed, or when the holder was silent for a lease while the claimer was not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from jobs.models import Chunk
from jobs.run.lease import Lease

ALONE_FROM_CLAIM = 3  # claims without progress from which a chunk's rows run one at a time


@dataclass(frozen=True, slots=True)
class Claim:
    """A chunk held by this worker; `done` has one character 0 or 1 per row."""

    id: int
    epoch: int
    job_id: UUID
    kind: str
    index: int
    first_row: int
    row_count: int
    byte_start: int
    byte_end: int
    done: str
    claims: int
    model_id: str


CLAIM = """
WITH free AS (
    SELECT c.id, j.model_id
    FROM jobs_chunk c
    JOIN jobs_job j ON j.id = c.job_id
    LEFT JOIN jobs_worker w ON w.id = c.epoch
    WHERE NOT c.closed AND c.kind = ANY(%(kinds)s) AND j.region = %(region)s
      AND (c.epoch IS NULL OR w.id IS NULL
           OR (%(reclaim)s AND w.heartbeat_at < now() - %(lease)s * interval '1 second'
               AND pg_postmaster_start_time() < now() - %(lease)s * interval '1 second'))
      AND CASE c.kind
          WHEN 'validate' THEN j.status IN ('submitted', 'estimating')
          WHEN 'sample' THEN j.status = 'estimating' AND j.model_id = ANY(%(models)s)
          WHEN 'rows' THEN j.status = 'in_progress' AND j.model_id = ANY(%(models)s)
          ELSE j.status = 'finalizing' OR (j.status = 'cancelling' AND NOT EXISTS (
              SELECT 1 FROM jobs_chunk r JOIN jobs_worker v ON v.id = r.epoch
              WHERE r.job_id = j.id AND r.kind = 'rows' AND NOT r.closed
                AND v.heartbeat_at >= now() - %(lease)s * interval '1 second'))
          END
    ORDER BY c.index, j.created_at
    LIMIT %(limit)s
    FOR UPDATE OF c SKIP LOCKED
    FOR SHARE OF j SKIP LOCKED
)
UPDATE jobs_chunk c SET epoch = %(epoch)s, claims = claims + 1
FROM free WHERE c.id = free.id
RETURNING c.id, c.epoch, c.job_id, c.kind, c.index, c.first_row, c.row_count, c.byte_start, c.byte_end,
          c.done, c.claims, free.model_id
"""


def claim(lease: Lease, *, region: str, kinds: Sequence[str], models: Sequence[str], limit: int) -> list[Claim]:
    """Up to `limit` free chunks of these kinds; `models` are those a server answers for.

    Low chunk numbers come first, so a new job starts beside a long one.
    """
    values: dict[str, Any] = {
        "kinds": list(kinds),
        "models": list(models),
        "region": region,
        "limit": limit,
        "epoch": lease.epoch,
        "lease": lease.seconds,
        "reclaim": lease.may_reclaim(),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CLAIM, values)
        return [Claim(*row) for row in cursor.fetchall()]


def release(claim: Claim, *, blameless: bool = True) -> None:
    """Give a chunk back, if it is still held; a blameless claim does not count towards running rows alone."""
    claims = Greatest(F("claims") - 1, 0) if blameless else F("claims")
    Chunk.objects.filter(pk=claim.id, epoch=claim.epoch, closed=False).update(epoch=None, claims=claims)


def close(claim: Claim) -> bool:
    """Mark a chunk as finished, if it is still held; inside the transaction of what finished it."""
    return bool(Chunk.objects.filter(pk=claim.id, epoch=claim.epoch, closed=False).update(closed=True))


def fence(job_id: UUID) -> None:
    """From here on no part of this job can be committed: its rows chunks belong to nobody."""
    Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.ROWS).update(epoch=None)


def set_cursor(claim: Claim, row: int) -> int | None:
    """Record that `row` is about to be sent alone; returns which time it is, None if the chunk is lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE jobs_chunk SET cursor = %(row)s,"
            " cursor_tries = CASE WHEN cursor = %(row)s THEN cursor_tries + 1 ELSE 1 END"
            " WHERE id = %(id)s AND epoch = %(epoch)s AND NOT closed RETURNING cursor_tries",
            {"row": row, "id": claim.id, "epoch": claim.epoch},
        )
        found = cursor.fetchone()
    return None if found is None else int(found[0])


def uncount_try(claim: Claim) -> None:
    """Take the last try back: the row never left this worker."""
    chunk = Chunk.objects.filter(pk=claim.id, epoch=claim.epoch, closed=False)
    chunk.update(cursor_tries=Greatest(F("cursor_tries") - 1, 0))
