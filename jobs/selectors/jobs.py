"""Reads of jobs, each within one organization; an id of another organization is the same as no id at all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum

from anex.core import clock
from anex.core.errors import NotFound
from anex.core.money import cents_to_nano
from billing.pricing import PriceCard
from inference.backends import registry
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Chunk, Input, Job, JobEvent, Part

RECENTLY: Final = timedelta(minutes=1)
# Adding up the parts of a long job takes a while, and whoever looks at it looks often.
KEPT_SECONDS: Final = 1.0
MOST_RETRIES: Final = 10
WAITING = (Status.SUBMITTED, Status.ESTIMATING, Status.COST_READY)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an approved job is: rows with an outcome, of them those without a good one, rows in all, and nano-dollars
    consumed so far.

    Of a job that is not over: the tokens of these rows. Of one whose rows run: how many became durable in a second of
    the last minute, whether it waits because nothing answers for its model, and what an operator says of that.
    """

    rows_done: int
    rows_failed: int
    rows_total: int
    spent_nano: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    rows_per_second: float | None = None
    waits_for_server: bool = False
    off_reason: str = ""

    @property
    def rows_left(self) -> int:
        """Rows without an outcome."""
        return self.rows_total - self.rows_done

    @property
    def seconds_left(self) -> int | None:
        """At the present pace; None where there is none."""
        return math.ceil(self.rows_left / self.rows_per_second) if self.rows_per_second else None


def get(organization_id: UUID, job_id: UUID) -> Job:
    """A job with its input and what makes it a batch; NotFound for an unknown or foreign id."""
    return _of(organization_id).select_related("input", "batch").filter(pk=job_id).first() or refuse_unknown()


def locked(organization_id: UUID, job_id: UUID) -> Job:
    """A job whose row stays locked until the caller's transaction ends; NotFound as `get`."""
    return _of(organization_id).select_for_update().filter(pk=job_id).first() or refuse_unknown()


def refuse_unknown() -> NoReturn:
    """The one answer for every id that names no job of the organization."""
    raise NotFound("No such job.")


def recent(organization_id: UUID, limit: int) -> list[Job]:
    """The newest jobs first."""
    return list(_of(organization_id).select_related("input").order_by("-created_at")[:limit])


def awaiting_approval(organization_id: UUID) -> list[Job]:
    """Quoted jobs that wait for a person or program to approve them, the soonest to lapse first."""
    return list(_of(organization_id).filter(status=Status.COST_READY).order_by("approval_expires_at"))


def waiting_count(organization_id: UUID, *, batches: bool) -> int:
    """Jobs, or batches, that count towards the cap of their queue: everything not yet approved or ended."""
    return _of(organization_id).filter(status__in=WAITING, batch__isnull=not batches).count()


def progress(job: Job) -> Progress | None:
    """How far a job is; None before its approval."""
    return progress_of([job]).get(job.pk)


def progress_of(jobs: Sequence[Job]) -> dict[UUID, Progress]:
    """How far each job is that was approved, in a query and one for each region that jobs run in.

    A running job is the sum of its durable parts, added up once a second at most by each process; an ended one has its
    counts and charge written down.
    """
    approved = [job for job in jobs if job.approved_at is not None and job.row_count is not None]
    running = [job.pk for job in approved if job.status not in TERMINAL]
    now = clock.now()
    sums = _sums(running, now - RECENTLY)
    served = {region: registry.count_live(region) for region in {job.region for job in approved if _runs(job)}}
    idle = {(job.model_id, job.region) for job in approved if _runs(job) and job.model_id not in served[job.region]}
    off = {place: registry.off_reason(*place) for place in idle}
    found = {}
    for job in approved:
        total = job.row_count or 0
        if job.status in TERMINAL:
            failed = (job.error_rows or 0) + (job.format_error_rows or 0)
            found[job.pk] = Progress(row_outcomes(job), failed, total, cents_to_nano(job.charge_cents or 0))
            continue
        rows, failed, nano, read, written, lately = (int(count) for count in sums[job.pk])
        pace = lately / _seconds_of_pace(job, now) if _runs(job) else None
        why = off.get((job.model_id, job.region)) if _runs(job) else None
        found[job.pk] = Progress(rows, failed, total, nano, read, written, pace, why is not None, why or "")
    return found


def _runs(job: Job) -> bool:
    return job.status == Status.IN_PROGRESS and not job.paused


def _seconds_of_pace(job: Job, now: datetime) -> float:
    age = now - job.approved_at if job.approved_at else RECENTLY
    return max(1.0, min(RECENTLY, age).total_seconds())


_kept: dict[UUID, tuple[float, Sequence[Any]]] = {}


def _sums(job_ids: Sequence[UUID], lately: datetime) -> dict[UUID, Sequence[Any]]:
    """What `_durable` says of each job, or said within the last second."""
    now = clock.monotonic()
    for job_id, (added_up_at, _) in list(_kept.items()):
        if now >= added_up_at + KEPT_SECONDS:
            _kept.pop(job_id, None)
    sums = {job_id: kept[1] for job_id in job_ids if (kept := _kept.get(job_id))}
    if unknown := [job_id for job_id in job_ids if job_id not in sums]:
        found = {job_id: counts for job_id, *counts in _durable(unknown, lately)}
        sums |= {job_id: found.get(job_id, (0,) * 6) for job_id in unknown}
        _kept.update({job_id: (now, sums[job_id]) for job_id in unknown})
    return sums


def _durable(job_ids: Sequence[UUID], lately: datetime) -> QuerySet[Part, tuple[Any, ...]]:
    """Rows with an outcome, of them failed ones, nano-dollars and tokens consumed, and rows since `lately`, of the jobs
    that have any."""
    parts = Part.objects.filter(chunk__job__in=job_ids, chunk__kind=Chunk.Kind.ROWS)
    failed = F("error_rows") + F("format_error_rows")
    outcomes = F("success_rows") + F("truncated_rows") + failed
    recent = Sum(outcomes, filter=Q(created_at__gte=lately), default=0)
    return parts.values_list("chunk__job").annotate(
        rows=Sum(outcomes),
        failed=Sum(failed),
        nano=Sum("cost_nano"),
        read=Sum("input_tokens"),
        written=Sum("output_tokens"),
        recent=recent,
    )


def price_percent(job: Job) -> int | None:
    """What a job's window costs, in percent of the batch prices it was quoted at; None before its quote."""
    return PriceCard.thaw(job.prices).percent(job.completion_window) if job.prices else None


def others_running(job: Job) -> int:
    """Other jobs on the same input that are not over: they keep its file."""
    return Job.objects.filter(input_id=job.input_id).exclude(pk=job.pk).exclude(status__in=TERMINAL).count()


def row_outcomes(job: Job) -> int:
    """Rows of an ended job that any of its four counts accounts for."""
    counts = (job.success_rows, job.error_rows, job.format_error_rows, job.truncated_rows)
    return sum(count or 0 for count in counts)


def never_run(job: Job) -> int:
    """Rows of an ended job that nothing came of; 0 of one that is not over."""
    return (job.row_count or 0) - row_outcomes(job) if job.status in TERMINAL else 0


def retryable_rows(job: Job) -> int:
    """Rows of an ended job that were never answered, ended in an error or broke their format.

    A job that could not be priced has none: it would only fail again.
    """
    if job.status not in TERMINAL or job.row_count is None or job.quote_cents is None:
        return 0
    return job.row_count - (job.success_rows or 0) - (job.truncated_rows or 0)


def is_readable(job: Job) -> bool:
    """Whether a job's rows are still there: neither its data nor its input was deleted."""
    return job.data_deleted_at is None and job.input.status == Input.State.READY


def borrows_input(job: Job) -> bool:
    """Whether a retry has not copied its rows yet, or never did: the input it names is that of the job it retries."""
    return job.retry_of is not None and job.input_id == job.retry_of.input_id


def retries(job: Job) -> list[Job]:
    """The jobs that were made of the rows of this one, oldest first; a few at most."""
    return list(job.retries.order_by("created_at")[:MOST_RETRIES])


def events(job: Job) -> list[JobEvent]:
    """The steps of the job's life, oldest first."""
    return list(job.events.order_by("pk"))


def _of(organization_id: UUID) -> QuerySet[Job]:
    return Job.objects.filter(organization_id=organization_id)
