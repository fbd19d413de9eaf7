"""A batch as OpenAI's clients read it (reference 000)."""

from datetime import datetime
from typing import Any, Final

from anex.core import threads
from anex.core.usage import Usage
from jobs.batch_status import EXPIRED, BatchStatus, expires_at, shown
from jobs.lifecycle import Status
from jobs.models import File, Job
from jobs.selectors import batches, contents, files
from jobs.selectors.batches import Page, View

# What customers wrote is in objects: so many are read at once.
_READERS: Final = 16
_NOT_HERE: Final = "The details of this failure were deleted with the batch's data, or are kept in its region."
# Which of its times an ended batch was over at.
_ENDS: Final[dict[BatchStatus, str]] = {
    status: f"{status}_at" for status in ("completed", "failed", "cancelled", "expired")
}


def batch(view: View) -> dict[str, Any]:
    """Every field of a batch. Raises StoreUnavailable."""
    job, done = view.job, view.finished
    status = shown(Status(job.status), job.stop_reason)
    return {
        "id": batches.wire_id(job),
        "object": "batch",
        "endpoint": job.batch.endpoint,
        "model": job.model_id,
        "errors": _errors(job),
        "input_file_id": files.wire_id(job.input.file),
        "completion_window": job.completion_window,
        "status": status,
        "output_file_id": _file(view, File.Part.OUTPUT),
        "error_file_id": _file(view, File.Part.ERROR),
        **_times(view, status),
        "request_counts": {"total": job.row_count or 0, "completed": done.completed, "failed": done.failed},
        "usage": done.usage and _usage(done.usage, done.reasoning_tokens),
        "metadata": contents.batch_metadata(job.batch),
        "anex_job_id": str(job.pk),
    }


def page(found: Page) -> dict[str, Any]:
    """A page of batches. Raises StoreUnavailable."""
    with threads.readers(_READERS, "batches") as readers:
        data = list(readers.map(batch, found.batches))
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": found.has_more,
    }


def _file(view: View, part: File.Part) -> str | None:
    return files.wire_id(view.files[part]) if part in view.files else None


def _times(view: View, status: BatchStatus) -> dict[str, int | None]:
    job, stopping = view.job, view.steps.get(Status.CANCELLING)
    lapsed = job.stop_reason == EXPIRED
    times = {
        "created_at": job.created_at,
        "in_progress_at": job.approved_at,
        "expires_at": expires_at(job.created_at),
        "finalizing_at": view.steps.get(Status.FINALIZING) or (stopping if lapsed else None),
        "cancelling_at": None if lapsed else stopping,
        **dict.fromkeys(_ENDS.values()),
    }
    if status in _ENDS:
        times[_ENDS[status]] = job.finished_at
    return {name: _unix(at) for name, at in times.items()}


def _unix(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())


def _usage(usage: Usage, reasoning_tokens: int | None) -> dict[str, Any]:
    """In tokens; null for the thinking within the output where a server did not tell it."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _errors(job: Job) -> dict[str, Any] | None:
    if not job.failure_code:
        return None
    told = contents.failure(job)
    if told is None:
        data = [{"code": job.failure_code, "line": job.failure_line, "message": _NOT_HERE, "param": None}]
    else:
        data = [
            {"code": error.code, "line": error.line, "message": error.message, "param": error.param}
            for error in told.errors
        ]
    return {"object": "list", "data": data}
