"""Jobs, chunks, workers and webhooks of all organizations together, for whoever watches the installation."""

from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.models import Count

from jobs.lifecycle import TERMINAL, Status
from jobs.models import Job

_CHUNKS: Final = """
SELECT j.region, c.kind, count(*), count(c.epoch),
       count(c.epoch) FILTER (WHERE w.id IS NULL OR w.heartbeat_at < now() - %(lease)s * interval '1 second')
FROM jobs_chunk c JOIN jobs_job j ON j.id = c.job_id LEFT JOIN jobs_worker w ON w.id = c.epoch
WHERE NOT c.closed AND j.status IN ('submitted', 'estimating', 'in_progress', 'finalizing', 'cancelling')
GROUP BY 1, 2 ORDER BY 1, 2
"""
_WORKERS: Final = """
SELECT region, count(*) FROM jobs_worker
WHERE heartbeat_at >= now() - %(lease)s * interval '1 second' GROUP BY 1 ORDER BY 1
"""
_WEBHOOKS: Final = """
SELECT e.region, count(*), greatest(0, max(extract(epoch FROM now() - d.next_attempt_at)))::float
FROM jobs_webhookdelivery d JOIN jobs_webhookevent e ON e.id = d.event_id
WHERE d.state = 'pending' GROUP BY 1 ORDER BY 1
"""
# Numbers that were given out: as good as a count, and nothing is counted.
_EVER: Final = """
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('jobs_part', 'id')), 0),
       coalesce(pg_sequence_last_value(pg_get_serial_sequence('jobs_webhookattempt', 'id')), 0)
"""


@dataclass(frozen=True, slots=True)
class Chunks:
    """Of a region and kind: not done yet, of these in a worker's hands, of these of a worker that is silent."""

    region: str
    kind: str
    open: int
    claimed: int
    orphaned: int


@dataclass(frozen=True, slots=True)
class Measures:
    """`jobs` by region and status, those that are over left out; `webhooks` by region: how many wait, and the seconds
    that the longest is overdue; `parts` and `attempts` (of webhooks) ever."""

    jobs: list[tuple[str, str, int]]
    chunks: list[Chunks]
    workers: list[tuple[str, int]]
    webhooks: list[tuple[str, int, float]]
    parts: int
    attempts: int


def now() -> Measures:
    """All of it."""
    lease = {"lease": settings.ANEX_LEASE_SECONDS}
    moving = Job.objects.filter(status__in=[status for status in Status if status not in TERMINAL])
    counted = moving.values_list("region", "status").annotate(Count("pk")).order_by("region", "status")
    [(parts, attempts)] = _rows(_EVER)
    return Measures(
        jobs=list(counted),
        chunks=[Chunks(*row) for row in _rows(_CHUNKS, lease)],
        workers=_rows(_WORKERS, lease),
        webhooks=_rows(_WEBHOOKS),
        parts=parts,
        attempts=attempts,
    )


def _rows(statement: str, values: dict[str, Any] | None = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
