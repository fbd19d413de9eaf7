"""Links to result files (reference 001, GET /jobs/{id}/result)."""

from dataclasses import dataclass
from uuid import UUID

from anex.core import clock
from anex.core.errors import Conflict, Gone
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Job
from jobs.selectors import batches, jobs
from jobs.services import residency
from jobs.storage import keys, store

LINK_SECONDS = 3600
DELETED = "This job's result has been deleted."


@dataclass(frozen=True, slots=True)
class ResultLink:
    """A presigned link to a job's result file; `row_count` is the number of rows in the file."""

    job_id: UUID
    status: Status
    url: str
    expires_in_s: int
    partial: bool
    row_count: int | None


def link(*, organization_id: UUID, job_id: UUID, errors: bool = False) -> ResultLink:
    """A fresh link, valid for an hour and never beyond the result's own deletion date; with `errors`, to the error file
    of a batch, whose rows are not counted.

    Misdirected for a job of the other region, Conflict while the job runs or when it ended with nothing to deliver,
    Gone once the result was deleted.
    """
    job = jobs.get(organization_id, job_id)
    residency.require_here(job.region)
    if job.data_deleted_at is not None:
        raise Gone(DELETED)
    if job.status not in TERMINAL:
        raise Conflict(f"This job has no result yet: it is {job.status}.")
    if job.deletion_asked_at is not None:
        raise Gone(DELETED)
    key = _error_key(job) if errors else job.result_key
    if not key:
        raise Conflict(f"This job is {job.status} and has no {'error file' if errors else 'result'}.")
    left = LINK_SECONDS
    if job.data_expires_at is not None:
        left = min(left, int((job.data_expires_at - clock.now()).total_seconds()))
    if left <= 0:
        raise Gone(DELETED)
    name = f"{job.id}{'-errors' if errors else ''}.{keys.format_of(key)}"
    url = store(job.region).presign_download(key, expires_in_s=left, filename=name)
    return ResultLink(job.id, Status(job.status), url, left, bool(job.partial), None if errors else job.result_rows)


def _error_key(job: Job) -> str:
    file = batches.error_file(job)
    return file.key if file else ""
