"""What a customer wrote or a row said, read from its region: the database holds codes and numbers only.

Deleted data reads as None, and so does what is kept in the other region: either API answers a poll (reference 001,
GET /jobs/{id}). A store that is away raises StoreUnavailable (503): a null would claim that
there is nothing to read.
"""

from typing import Any

import msgspec
from django.conf import settings

from inference.requests.options import RowOptions
from inference.requests.profiles import PROFILES
from jobs.models import Batch, Input, Job
from jobs.storage import keys, store
from jobs.storage.interface import ObjectMissing


class LineError(msgspec.Struct, frozen=True):
    """A refused line of the input; `line` counts from 1 and is null when the file as a whole is refused.

    `custom_id` names its row, where that could be read; of a very long one, how it begins.
    """

    code: str
    message: str
    line: int | None = None
    param: str | None = None
    custom_id: str | None = None


class Failure(msgspec.Struct, frozen=True):
    """Why a job failed: a sentence, and the lines it is about."""

    reason: str
    errors: list[LineError] = []


class IngestRequest(msgspec.Struct, frozen=True):
    """Where an input is copied from, and whom to tell with which secret."""

    source_url: str
    callback_url: str | None = None
    callback_secret: str | None = None

    def __repr__(self) -> str:
        return "IngestRequest(…)"


class IngestFailure(msgspec.Struct, frozen=True):
    """Why an input could not be copied."""

    reason: str


def ingest_request(source: Input) -> IngestRequest | None:
    """What a copy was asked for; None once nobody needs it."""
    data = _read_input(source, keys.ingest_request(source.organization_id, source.pk))
    return None if data is None else msgspec.json.decode(data, type=IngestRequest)


def ingest_failure(source: Input) -> str | None:
    """Why the copy failed; None for an input that did not fail, a general sentence once the reason is erased."""
    if source.status != Input.State.FAILED:
        return None
    data = _read_input(source, keys.ingest_failure(source.organization_id, source.pk))
    return "The copy failed." if data is None else msgspec.json.decode(data, type=IngestFailure).reason


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


def batch_metadata(batch: Batch) -> dict[str, str] | None:
    """What the customer wrote on a batch; None where that is nothing."""
    if not batch.has_metadata:
        return None
    data = _read(batch.job, keys.batch_metadata(batch.job_id))
    return None if data is None else msgspec.json.decode(data, type=dict[str, str])


def row_options(job: Job) -> RowOptions:
    """What a job asks of every row, as it was submitted. Raises ObjectMissing where its schema was deleted."""
    schema: dict[str, Any] | None = None
    if job.has_response_format:
        schema = msgspec.json.decode(store(job.region).read(keys.response_format(job.id)), type=dict[str, Any])
    return RowOptions(
        max_output_tokens=job.requested_max_output_tokens,
        temperature=job.temperature,
        reasoning=job.reasoning,
        reasoning_budget=job.reasoning_budget,
        reasoning_effort=job.reasoning_effort or None,
        response_format=schema,
        dimensions=job.dimensions,
        video_fps=job.video_fps,
        profile=PROFILES[job.row_profile],
        estimated_budget=job.estimated_reasoning_budget,
    )


def _read(job: Job, key: str) -> bytes | None:
    if job.data_deleted_at is not None or job.region != settings.ANEX_REGION:
        return None
    try:
        return store(job.region).read(key)
    except ObjectMissing:
        return None


def _read_input(source: Input, key: str) -> bytes | None:
    try:
        return store(source.region).read(key)
    except ObjectMissing:
        return None
