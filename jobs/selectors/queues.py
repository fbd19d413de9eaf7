"""What waits for model servers, of all organizations together: for whoever starts and stops servers."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, get_args
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, Max, Min, Sum

from anex.core import clock
from inference.backends import registry
from jobs import pace
from jobs.models import Chunk, Part
from jobs.pace import Pace
from jobs.scale import Queue
from jobs.selectors import paces

# What became durable this lately says how fast the servers are now.
LATELY = timedelta(minutes=5)
WAITING = """
SELECT j.id, j.model_id, j.region, j.task_type, j.row_count, j.est_input_tokens,
       coalesce(j.max_output_tokens, j.requested_max_output_tokens), j.approved_at,
       count(c.id), coalesce(sum(c.row_count - bit_count(c.done)), 0)::bigint
FROM jobs_job j
LEFT JOIN jobs_chunk c ON c.job_id = j.id AND NOT c.closed
    AND c.kind = CASE j.status WHEN 'in_progress' THEN 'rows' ELSE 'sample' END
WHERE j.status IN ('submitted', 'estimating', 'in_progress') AND NOT j.paused
GROUP BY j.id
"""


@dataclass(frozen=True, slots=True)
class _Job:
    id: UUID
    model_id: str
    region: str
    task_type: str
    row_count: int | None
    input_tokens: int | None
    most_per_row: int | None
    approved_at: datetime | None
    chunks: int
    rows: int


def every() -> list[Queue]:
    """The queue of every model that has jobs or servers, by model and region."""
    jobs: defaultdict[tuple[str, str], list[_Job]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        for row in cursor.fetchall():
            job = _Job(*row)
            jobs[job.model_id, job.region].append(job)
    servers = {
        (model_id, region): count
        for region in get_args(registry.Region)
        for model_id, count in registry.count_live(region).items()
    }
    places = sorted(jobs.keys() | servers.keys())
    return [_queue(model, region, jobs[model, region], servers.get((model, region), 0)) for model, region in places]


def _queue(model_id: str, region: str, jobs: list[_Job], servers: int) -> Queue:
    recent = paces.recent(model_id=model_id, region=region)
    made = {row["chunk__job"]: row for row in _made(job.id for job in jobs if job.approved_at)}
    tokens = sum(job.rows * (_measured_per_row(job, made) or _expected_per_row(job, recent)) for job in jobs)
    return Queue(
        model_id=model_id,
        region=region,
        jobs=len(jobs),
        chunks=sum(job.chunks for job in jobs),
        rows=sum(job.rows for job in jobs),
        tokens=round(tokens),
        tokens_per_second=_pace_now(jobs, servers) or _pace_before(recent),
        servers=servers,
    )


def _made(job_ids: Iterable[UUID], *, since: datetime | None = None) -> list[Any]:
    parts = Part.objects.filter(chunk__job__in=list(job_ids), chunk__kind=Chunk.Kind.ROWS)
    if since:
        parts = parts.filter(created_at__gte=since)
    outcomes = F("success_rows") + F("error_rows") + F("format_error_rows") + F("truncated_rows")
    return list(
        parts.values("chunk__job").annotate(
            rows=Sum(outcomes),
            read=Sum("input_tokens"),
            written=Sum("output_tokens"),
            parts=Count("pk"),
            first=Min("created_at"),
            last=Max("created_at"),
        )
    )


def _measured_per_row(job: _Job, made: dict[UUID, dict[str, Any]]) -> float:
    found = made.get(job.id)
    return _tokens(job, found) / found["rows"] if found and found["rows"] else 0.0


def _expected_per_row(job: _Job, recent: list[Pace]) -> float:
    if job.task_type != "chat":
        return (job.input_tokens or 0) / (job.row_count or 1)
    if not recent:
        return job.most_per_row or 0
    usual = median(job_before.tokens_per_row for job_before in recent)
    return min(usual, job.most_per_row or usual)


def _tokens(job: _Job, made: dict[str, Any]) -> int:
    return int(made["written"] if job.task_type == "chat" else made["read"])


def _pace_now(jobs: list[_Job], servers: int) -> float | None:
    """Of one server, by what all of them together made lately."""
    by_id = {job.id: job for job in jobs if job.approved_at}
    since = clock.now() - LATELY
    lately = _made(by_id, since=since) if by_id and servers else []
    if not lately:
        return None
    measured = pace.measure(
        approved_at=since,
        first_part_at=min(row["first"] for row in lately),
        last_part_at=max(row["last"] for row in lately),
        parts=sum(row["parts"] for row in lately),
        tokens=sum(_tokens(by_id[row["chunk__job"]], row) for row in lately),
        rows=sum(row["rows"] for row in lately),
    )
    return measured.tokens_per_second / servers if measured else None


def _pace_before(recent: list[Pace]) -> float | None:
    """Of one server, as if each of the last jobs had had one: too high where they had more, until rows run again."""
    return median(job.tokens_per_second for job in recent) if recent else None
