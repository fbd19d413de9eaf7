"""What a customer wrote or a row said, read from the job's region: the database holds codes and numbers only.

Deleted data reads as None, and so does what is kept in the other region: either API answers a poll (reference 001,
GET /jobs/{id}). A store that is away raises StoreUnavailable (503): a null would claim that
there is nothing to read.
"""

from typing import Any

import msgspec
from django.conf import settings

from jobs.models import Job
from jobs.storage import keys, store
from jobs.storage.interface import ObjectMissing


class LineError(msgspec.Struct, frozen=True):
    """A refused line of the input; `line` counts from 1 and is null when the file as a whole is refused."""

    code: str
    message: str
    line: int | None = None
    param: str | None = None


class Failure(msgspec.Struct, frozen=True):
    """Why a job failed: a sentence, and the lines it is about."""

    reason: str
    errors: list[LineError] = []


def failure(job: Job) -> Failure | None:
    """What was recorded when the job failed; None for a job that did not fail."""
    if not job.failure_code:
        return None
    data = _read(job, keys.failure(job.id))
    return None if data is None else msgspec.json.decode(data, type=Failure)


def response_format(job: Job) -> dict[str, Any] | None:
    """The job-wide structured-output schema as it was submitted; None when there is none."""
    if not job.has_response_format:
        return None
    data = _read(job, keys.response_format(job.id))
    return None if data is None else msgspec.json.decode(data, type=dict[str, Any])


def _read(job: Job, key: str) -> bytes | None:
    if job.data_deleted_at is not None or job.region != settings.ANEX_REGION:
        return None
    try:
        return store(job.region).read(key)
    except ObjectMissing:
        return None
