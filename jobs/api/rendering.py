"""From what the services and selectors return to the bodies of reference 003."""

from typing import Any
from uuid import UUID

import msgspec

from anex.core.money import ceil_cents
from jobs.api import listing
from jobs.api.schemas import JobDataDeletionSerializer, JobResultSerializer, JobSerializer
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Job
from jobs.selectors import jobs, pages
from jobs.selectors.contents import Failure
from jobs.selectors.jobs import Progress, row_outcomes
from jobs.selectors.pages import Page
from jobs.services.results import ResultLink

STOPPING = "The job is being stopped; its input and any result are deleted as soon as it has."
STOPPED = "The job has been stopped; its input and any result are deleted within minutes."


def brief(job: Job) -> dict[str, str]:
    """What the calls that change a job answer: its id and new status."""
    return {"id": str(job.id), "status": str(job.status)}


def created(job: Job) -> dict[str, str]:
    """What the calls that create a job answer, the first time and every further one: as it was created."""
    return {"id": str(job.id), "status": str(Status.SUBMITTED)}


def full(
    job: Job, *, progress: Progress | None, failure: Failure | None, response_format: dict[str, Any] | None
) -> dict[str, Any]:
    """Every field of a job; counts are null until it is over, the estimate until it is quoted."""
    stored = {
        "failure_reason": failure.reason if failure else None,
        "failure_errors": [msgspec.structs.asdict(error) for error in failure.errors] if failure else [],
        "response_format": response_format,
    }
    return dict(JobSerializer(_fields(job, progress) | stored).data)


def page(found: Page, progress: dict[UUID, Progress]) -> dict[str, Any]:
    """A page of jobs: of each what the database holds, which is all but what its customer wrote."""
    return {
        "data": [listing.ListedJobSerializer(_fields(job, progress.get(job.pk))).data for job in found.jobs],
        "has_more": found.end is not None,
        "next_cursor": found.end and pages.encode(found.end),
    }


def _fields(job: Job, progress: Progress | None) -> dict[str, Any]:
    asked = job.requested_max_output_tokens if job.task_type == "chat" else 0
    cap = asked if job.max_output_tokens is None else job.max_output_tokens
    return {
        "id": job.id,
        "status": job.status,
        "est_input_tok": job.est_input_tokens,
        "est_output_tok": job.est_output_tokens,
        "est_cost_cents": job.quote_cents,
        "est_processing_seconds": job.est_processing_seconds,
        "expected_cost_cents": job.expected_cost_cents,
        "expected_cost_low_cents": job.expected_cost_low_cents,
        "expected_cost_high_cents": job.expected_cost_high_cents,
        **_counts(job),
        "created_at": job.created_at,
        "approved_at": job.approved_at,
        "data_expires_at": job.data_expires_at,
        "data_deleted_at": job.data_deleted_at,
        "partial": job.partial,
        "failure_code": job.failure_code or None,
        "max_output_tokens": cap,
        "max_tokens": cap,
        "reasoning_budget": job.estimated_reasoning_budget if job.reasoning_budget is None else job.reasoning_budget,
        "temperature": job.temperature,
        "video_fps": job.video_fps,
        "model": job.model_id,
        "reasoning": job.reasoning,
        "reasoning_effort": job.reasoning_effort or None,
        "task_type": job.task_type,
        "format": job.input.format,
        "dimensions": job.dimensions,
        "data_residency": job.region,
        "progress": progress and _progress(progress, job.quote_cents),
        "charge_cents": job.charge_cents,
        "stop_reason": job.stop_reason or None,
        "completion_window": job.completion_window,
        "price_percent": jobs.price_percent(job),
        "priority": job.priority,
        "paused": job.paused,
        "retry_of": job.retry_of_id,
    }


def result(link: ResultLink) -> dict[str, Any]:
    """A result link."""
    fields = {
        "id": link.job_id,
        "status": link.status,
        "result_url": link.url,
        "expires_in": link.expires_in_s,
        "partial": link.partial,
        "row_count": link.row_count,
    }
    return dict(JobResultSerializer(fields).data)


def deletion(job: Job) -> dict[str, Any]:
    """What became of a job's data; the message only where it is still to be deleted."""
    fields = {"id": job.id, "status": job.status, "data_deleted_at": job.data_deleted_at}
    body = dict(JobDataDeletionSerializer(fields | {"message": STOPPED if job.status in TERMINAL else STOPPING}).data)
    if job.data_deleted_at is not None:
        del body["message"]
    return body


def _counts(job: Job) -> dict[str, int | None]:
    ended = job.status in TERMINAL and job.success_rows is not None
    names = ("success_rows", "error_rows", "format_error_rows", "truncated_rows")
    counts: dict[str, int | None] = {name: getattr(job, name) if ended else None for name in names}
    known = ended and job.row_count is not None
    counts["pending_rows"] = (job.row_count or 0) - row_outcomes(job) if known else None
    return counts


def _progress(progress: Progress, quote_cents: int | None) -> dict[str, Any]:
    spent = ceil_cents(progress.spent_nano)
    return {
        "rows_done": progress.rows_done,
        "rows_failed": progress.rows_failed,
        "rows_total": progress.rows_total,
        "spent_cents": spent if quote_cents is None else min(spent, quote_cents),
        "input_tokens": progress.input_tokens,
        "output_tokens": progress.output_tokens,
        "rows_per_second": progress.rows_per_second,
        "seconds_left": progress.seconds_left,
        "waits_for_server": progress.waits_for_server,
        "off_reason": progress.off_reason or None,
    }
