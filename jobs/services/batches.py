"""OpenAI batches: jobs made of an uploaded file, which are approved by themselves and end within their window."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction

from accounts.services import idempotency
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest, NotFound, Unprocessable
from billing.selectors import balances
from inference.catalogue import Model
from inference.requests.batch_lines import EVERY_URL
from inference.requests.envelope import URLS
from inference.requests.options import RowOptions
from inference.requests.profiles import OPENAI
from jobs.batch_status import WINDOW, shown
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Batch, File, Job
from jobs.selectors import files, jobs
from jobs.services import cancellations, residency, submissions
from jobs.storage import keys
from jobs.urgency import USUAL_WINDOW, Urgency

ENDPOINTS = EVERY_URL
_STOPPED = ("cancelling", "cancelled")
_RUNNING = tuple(status for status in Status if status not in (*TERMINAL, Status.FINALIZING, Status.CANCELLING))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a batch is made of: the file as clients know it, the url of its requests, its window, and its metadata."""

    input_file_id: str
    endpoint: str
    metadata: Mapping[str, str] | None = None
    completion_window: str = USUAL_WINDOW


def create(
    *,
    organization_id: UUID,
    asked: Asked,
    require_model: Callable[[str], None],
    actor: Actor,
    attempt: idempotency.Attempt | None = None,
) -> Job:
    """A batch's job, in `submitted`; `require_model` refuses a model that the caller may not use.

    An `attempt` made before answers the job of the first one. Raises Conflict (idempotency), NotFound (file),
    Misdirected, Forbidden (model), InvalidRequest (purpose, model not offered, endpoint, window), PaymentRequired (no
    balance), TooManyRequests (too many wait), StoreUnavailable.
    """
    if attempt and (earlier := idempotency.find(attempt)):
        return jobs.get(organization_id, UUID(earlier))
    file = _file(organization_id, asked.input_file_id)
    if file.input is None:
        raise InvalidRequest("input_file_id names no file that was uploaded as 'batch'.", param="input_file_id")
    residency.require_here(file.region)
    require_model(file.model_id)
    model = _model(file)
    if asked.endpoint != (url := file.url or URLS[model.task][0]):
        raise InvalidRequest(f"endpoint must be the url of the file's requests, which is {url}.", param="endpoint")
    urgency = _urgency(model, asked.completion_window)
    balances.require_positive(organization_id)
    job = submissions.draft(file.input, model, RowOptions(profile=OPENAI), actor, urgency)
    written = {keys.batch_metadata(job.pk): msgspec.json.encode(asked.metadata)} if asked.metadata else {}
    batch = Batch(job=job, endpoint=asked.endpoint, has_metadata=bool(written))
    return submissions.create(job, stored=written, actor=actor, attempt=attempt, batch=batch)


@transaction.atomic
def cancel(*, organization_id: UUID, job_id: UUID, actor: Actor) -> None:
    """Stop a batch; what finished is delivered and billed. Repeating it is harmless.

    Conflict once the batch is finalizing, or over for another reason. NotFound as `jobs.get`.
    """
    job = jobs.locked(organization_id, job_id)
    status = shown(Status(job.status), job.stop_reason)
    if status in _STOPPED:
        return
    if job.status not in _RUNNING:
        raise Conflict(f"It is too late to cancel this batch: it is {status}.")
    cancellations.cancel(organization_id=organization_id, job_id=job_id, actor=actor)


def expire(now: datetime) -> int:
    """Stop every batch whose window closed by `now`; returns how many. One that is finalizing completes.

    Each is its own transaction, and one that somebody is deciding about right now is left to the next sweep.
    """
    lapsed = Job.objects.filter(batch__isnull=False, created_at__lte=now - WINDOW, status__in=_RUNNING)
    expired = 0
    for job_id in lapsed.values_list("pk", flat=True):
        with transaction.atomic():
            job = lapsed.select_for_update(skip_locked=True, of=("self",)).filter(pk=job_id).first()
            if job is not None:
                cancellations.expire(job, now=now)
                expired += 1
    return expired


def _file(organization_id: UUID, wire_id: str) -> File:
    try:
        return files.get(organization_id, wire_id)
    except NotFound as error:
        raise NotFound(error.message, code=error.code, param="input_file_id") from None


def _model(file: File) -> Model:
    try:
        return submissions.offered(file.model_id, organization_id=file.organization_id)
    except Unprocessable:
        message = f"The file's requests name the model '{file.model_id}', which is not offered now."
        raise InvalidRequest(message, code="model_not_found", param="input_file_id") from None


def _urgency(model: Model, window: str) -> Urgency:
    urgency = Urgency(window)
    try:
        submissions.require_window(model.id, urgency)
    except Unprocessable as error:
        raise InvalidRequest(error.message, param="completion_window") from None
    return urgency
