"""Who works on which chunk. Every statement here is a guard of the part protocol (tests/jobs/run/test_protocol.py).

A claim takes the job's row FOR SHARE, so it cannot cross a change of the job's status or a pause; a chunk is free
when nobody holds it, when its holder is no longer listed, when the holder was silent for a lease while the claimer was
not, or when the claimer itself holds it without working on it: then the answer to a claim or to a release was lost.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest

from jobs.models import Chunk
from jobs.run.lease import Lease

ALONE_FROM_CLAIM = 3  # claims without progress from which a chunk's rows run one at a time
MOST_CLAIMS = 1000  # counted; further ones do not make a difference


class Interrupted(Exception):
    """The worker stops, or its lease has lapsed: what it was at is given back."""


class Rank(NamedTuple):
    """A job's share, then its priority: the higher one of an organization's jobs goes first."""

    share: int
    priority: int


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
    cursor: int | None
    suspects: str
    model_id: str
    organization_id: UUID
    share: int
    priority: int
    traceparent: str

    @property
    def rank(self) -> Rank:
        """Before which jobs of its organization it goes."""
        return Rank(self.share, self.priority)

    @property
    def size_bytes(self) -> int:
        """The bytes of input its rows take up; they are read at once."""
        return self.byte_end - self.byte_start


# Whether row `c`, left-joined to its holder `w`, is nobody's; by the claimer's clock and the database's. What was taken
# from this worker is not claimed by it again before it has noticed.
FREE = """(((w.id IS NULL OR c.epoch = %(epoch)s) AND c.id <> ALL(%(held)s))
           OR (%(reclaim)s AND w.heartbeat_at < now() - %(lease)s * interval '1 second'
               AND pg_postmaster_start_time() < now() - %(lease)s * interval '1 second'))"""
# Whether a chunk of this kind may be worked on now.
MAY_RUN = """CASE c.kind
    WHEN 'validate' THEN j.status IN ('submitted', 'estimating') AND j.model_id <> ALL(%(uncounted)s)
    WHEN 'sample' THEN j.status = 'estimating' AND j.model_id = ANY(%(models)s)
    WHEN 'rows' THEN j.status = 'in_progress' AND NOT j.paused AND j.model_id = ANY(%(models)s)
    ELSE j.status = 'finalizing' OR (j.status = 'cancelling' AND NOT EXISTS (
        SELECT 1 FROM jobs_chunk r JOIN jobs_worker v ON v.id = r.epoch
        WHERE r.job_id = j.id AND r.kind = 'rows' AND NOT r.closed
          AND (v.id <> %(epoch)s OR r.id = ANY(%(held)s))
          AND v.heartbeat_at >= now() - %(lease)s * interval '1 second'))
    END"""
# Chunks that are looked at, of a job and of all: as many workers can claim at the same moment.
OF_A_JOB, OF_ALL = 8, 32
# Of each job that may run the first free chunks; the organization that has the fewest chunks in hand for its share is
# next, and of its jobs of that share those of the highest priority. What is locked is looked at once more: where it has
# changed hands since, its new holder may be unknown to this statement, so the holder must be the one that was judged.
CLAIM = f"""
WITH near AS MATERIALIZED (
    SELECT c.id, c.epoch,
           (SELECT count(*) FROM jobs_chunk h JOIN jobs_job k ON k.id = h.job_id
            WHERE h.epoch IS NOT NULL AND NOT h.closed AND k.organization_id = j.organization_id)::float / j.share
           AS of_organization,
           dense_rank() OVER (PARTITION BY j.organization_id, j.share ORDER BY j.priority DESC) AS in_line,
           (SELECT count(*) FROM jobs_chunk h
            WHERE h.epoch IS NOT NULL AND NOT h.closed AND h.job_id = j.id) AS of_job
    FROM jobs_job j
    CROSS JOIN LATERAL (
        SELECT c.id, c.epoch, c.kind, c.index FROM jobs_chunk c LEFT JOIN jobs_worker w ON w.id = c.epoch
        WHERE c.job_id = j.id AND NOT c.closed AND c.kind = ANY(%(kinds)s) AND {FREE}
        ORDER BY c.index LIMIT {OF_A_JOB}
    ) c
    WHERE j.status IN ('submitted', 'estimating', 'in_progress', 'finalizing', 'cancelling') AND j.region = %(region)s
      AND j.share >= %(least_share)s AND j.id <> ALL(%(passed_jobs)s::uuid[])
      AND NOT EXISTS (
          SELECT 1 FROM unnest(%(passed)s::uuid[], %(passed_shares)s::int[], %(passed_priorities)s::int[])
              AS p(organization_id, share, priority)
          WHERE p.organization_id = j.organization_id AND (j.share, j.priority) <= (p.share, p.priority))
      AND {MAY_RUN}
    ORDER BY of_organization, in_line, of_job, c.index, j.created_at
    LIMIT {OF_ALL}
), free AS (
    SELECT c.id, j.model_id, j.organization_id, j.share, j.priority, j.traceparent
    FROM near
    JOIN jobs_chunk c ON c.id = near.id
    JOIN jobs_job j ON j.id = c.job_id
    WHERE NOT c.closed AND c.epoch IS NOT DISTINCT FROM near.epoch AND {MAY_RUN}
    ORDER BY near.of_organization, near.in_line, near.of_job, c.index, j.created_at
    LIMIT %(limit)s
    FOR UPDATE OF c SKIP LOCKED
    FOR SHARE OF j SKIP LOCKED
)
UPDATE jobs_chunk c SET epoch = %(epoch)s, claims = LEAST(claims + 1, %(most_claims)s)
FROM free WHERE c.id = free.id
RETURNING c.id, c.epoch, c.job_id, c.kind, c.index, c.first_row, c.row_count, c.byte_start, c.byte_end,
          c.done, c.claims, c.cursor, c.suspects, free.model_id, free.organization_id,
          free.share, free.priority, free.traceparent
"""  # noqa: S608


OTHERS = """
SELECT j.model_id, count(DISTINCT w.id)
FROM jobs_chunk c
JOIN jobs_worker w ON w.id = c.epoch
JOIN jobs_job j ON j.id = c.job_id
WHERE NOT c.closed AND c.epoch IS NOT NULL AND c.kind IN ('sample', 'rows') AND w.id <> %(epoch)s
  AND w.heartbeat_at >= now() - %(lease)s * interval '1 second'
GROUP BY j.model_id
"""


def claim(
    lease: Lease,
    *,
    region: str,
    kinds: Sequence[str],
    models: Sequence[str],
    limit: int,
    held: Collection[int] = (),
    uncounted: Sequence[str] = (),
    passed_jobs: Collection[UUID] = (),
    passed_organizations: Mapping[UUID, Rank] | None = None,
    least_share: int = 1,
) -> list[Claim]:
    """Up to `limit` free chunks of these kinds; `models` are those a server answers for, `uncounted` those whose
    input cannot be counted just now, `held` the chunks (their ids) this worker is at now. `passed_…` have enough rows
    here; of an organization, but for jobs above this rank. Jobs of less than `least_share` are not wanted.

    Organizations take turns, and so do the jobs of one: whoever has the fewest chunks in hand, at all workers, is next.
    """
    passed = passed_organizations or {}
    values: dict[str, Any] = {
        "kinds": list(kinds),
        "models": list(models),
        "uncounted": list(uncounted),
        "passed_jobs": list(passed_jobs),
        "passed": list(passed),
        "passed_shares": [rank.share for rank in passed.values()],
        "passed_priorities": [rank.priority for rank in passed.values()],
        "least_share": least_share,
        "region": region,
        "limit": limit,
        "epoch": lease.epoch,
        "held": list(held),
        "most_claims": MOST_CLAIMS,
        "lease": lease.seconds,
        "reclaim": lease.may_reclaim(),
    }
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, values)
        return [Claim(*row) for row in cursor.fetchall()]


def workers_at_models(lease: Lease) -> dict[str, int]:
    """How many other workers have rows of a model in hand, by its id."""
    with connection.cursor() as cursor:
        cursor.execute(OTHERS, {"epoch": lease.epoch, "lease": lease.seconds})
        return dict(cursor.fetchall())


def release(claim: Claim, *, blameless: bool = True) -> None:
    """Give a chunk back, if it is still held; a blameless claim does not count towards running rows alone."""
    claims = Greatest(F("claims") - 1, 0) if blameless else F("claims")
    _update_held(claim, epoch=None, claims=claims)


def close(claim: Claim) -> bool:
    """Mark a chunk as finished, if it is still held; inside the transaction of what finished it."""
    return _update_held(claim, closed=True)


def is_held(claim: Claim) -> bool:
    """Whether a chunk is still held, and stays so until the caller's transaction ends."""
    return Chunk.objects.select_for_update().filter(pk=claim.id, epoch=claim.epoch, closed=False).exists()


def fence(job_id: UUID) -> None:
    """From here on no part of this job can be committed: its rows chunks belong to nobody."""
    Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.ROWS).update(epoch=None)


def set_cursor(claim: Claim, row: int) -> bool:
    """Record that `row` is about to be sent alone; False when the chunk is lost."""
    return _update_held(claim, cursor=row)


def clear_cursor(claim: Claim) -> bool:
    """Record that the row at the cursor never left this worker."""
    return _update_held(claim, cursor=None)


def set_suspects(claim: Claim, suspects: Set[int]) -> bool:
    """Record the rows under which a server died once; False when the chunk is lost."""
    bits = "".join("1" if row in suspects else "0" for row in range(claim.row_count))
    return _update_held(claim, suspects=bits, cursor=None)


def _update_held(claim: Claim, **fields: Any) -> bool:
    return bool(Chunk.objects.filter(pk=claim.id, epoch=claim.epoch, closed=False).update(**fields))
