"""Reads of jobs, each within one organization; an id of another organization is the same as no id at all."""

from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

from django.db.models import QuerySet, Sum

from anex.core.errors import NotFound
from anex.core.money import cents_to_nano
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Chunk, Job, JobEvent, Part

WAITING = (Status.SUBMITTED, Status.ESTIMATING, Status.COST_READY)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an approved job is: rows with an outcome, rows in all, and nano-dollars consumed so far."""

    rows_done: int
    rows_total: int
    spent_nano: int


def get(organization_id: UUID, job_id: UUID) -> Job:
    """A job with its input; NotFound for an unknown or foreign id."""
    return _of(organization_id).select_related("input").filter(pk=job_id).first() or refuse_unknown()


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


def waiting_count(organization_id: UUID) -> int:
    """Jobs that count towards the cap of the approval queue: everything not yet approved or ended."""
    return _of(organization_id).filter(status__in=WAITING).count()


def progress(job: Job) -> Progress | None:
    """How far a job is; None before its approval.

    A running job is the sum of its durable parts; an ended one has its counts and charge written down.
    """
    if job.approved_at is None or job.row_count is None:
        return None
    if job.status in TERMINAL:
        return Progress(row_outcomes(job), job.row_count, cents_to_nano(job.charge_cents or 0))
    sums = Part.objects.filter(chunk__job=job, chunk__kind=Chunk.Kind.ROWS).aggregate(
        success=Sum("success_rows", default=0),
        error=Sum("error_rows", default=0),
        format_error=Sum("format_error_rows", default=0),
        truncated=Sum("truncated_rows", default=0),
        cost=Sum("cost_nano", default=0),
    )
    spent = sums.pop("cost")
    return Progress(sum(sums.values()), job.row_count, spent)


def others_running(job: Job) -> int:
    """Other jobs on the same input that are not over: they keep its file."""
    return Job.objects.filter(input_id=job.input_id).exclude(pk=job.pk).exclude(status__in=TERMINAL).count()


def row_outcomes(job: Job) -> int:
    """Rows of an ended job that any of its four counts accounts for."""
    counts = (job.success_rows, job.error_rows, job.format_error_rows, job.truncated_rows)
    return sum(count or 0 for count in counts)


def events(job: Job) -> list[JobEvent]:
    """The steps of the job's life, oldest first."""
    return list(job.events.order_by("pk"))


def _of(organization_id: UUID) -> QuerySet[Job]:
    return Job.objects.filter(organization_id=organization_id)
