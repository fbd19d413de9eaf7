"""Links to result files (reference 001, GET /jobs/{id}/result)."""

from dataclasses import dataclass
from uuid import UUID

from anex.core import clock
from anex.core.errors import Conflict, Gone
from jobs.lifecycle import TERMINAL, Status
from jobs.selectors import jobs
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


def link(*, organization_id: UUID, job_id: UUID) -> ResultLink:
    """A fresh link, valid for an hour and never beyond the result's own deletion date.

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
    if not job.result_key:
        raise Conflict(f"This job is {job.status} and has no result: no row was finished.")
    left = LINK_SECONDS
    if job.data_expires_at is not None:
        left = min(left, int((job.data_expires_at - clock.now()).total_seconds()))
    if left <= 0:
        raise Gone(DELETED)
    name = f"{job.id}.{keys.format_of(job.result_key)}"
    url = store(job.region).presign_download(job.result_key, expires_in_s=left, filename=name)
    return ResultLink(job.id, Status(job.status), url, left, bool(job.partial), job.result_rows)
