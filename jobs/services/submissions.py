"""Submission (reference 001, POST /jobs): everything that can be refused before a job exists is refused here.

Rows are not looked at: a worker checks them, and a bad row fails the job while it is still free.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import msgspec
from django.conf import settings
from django.db import transaction

from accounts.models import Organization
from accounts.selectors import plans
from accounts.services import audit, idempotency
from anex.core import tracing
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest, TooManyRequests, Unprocessable
from billing import price_cards
from billing.selectors import balances
from inference import catalogue
from inference.backends import registry
from inference.catalogue import Model
from inference.requests.options import RowOptions, check_options
from inference.requests.response_format import check_response_format
from jobs.lifecycle import Status
from jobs.models import Batch, Chunk, Input, Job
from jobs.selectors import jobs, offers
from jobs.services import inputs, residency, transitions
from jobs.services.doorbell import ring
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable
from jobs.urgency import Urgency

# The largest value a request may name (reference 003, CreateJobRequest); a model may take less.
MAX_OUTPUT_TOKENS = 32_768
MAX_WAITING = 10
MAX_VALIDATING = 100
# Approval is a person's or program's decision; a minute is often enough for one and never a burden.
QUEUE_RETRY_S = 60


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """What a job is asked to do: the model, the options of its rows, how soon, and where its data may live."""

    model_id: str
    row: RowOptions
    data_residency: str | None = None
    urgency: Urgency = field(default_factory=Urgency)


def submit(
    *,
    organization_id: UUID,
    options: SubmitOptions,
    actor: Actor,
    input_id: UUID | None = None,
    input_s3_uri: str | None = None,
    attempt: idempotency.Attempt | None = None,
) -> Job:
    """Create a job in `submitted` and the chunk that checks its input, and ring the workers.

    Give exactly one of `input_id` and `input_s3_uri`. An `attempt` made before answers the job of the first one, as
    it is now. Refusals, in this order: Conflict (idempotency), Unprocessable (request), Forbidden and Misdirected
    (residency), Unprocessable (model, options, plan), InvalidRequest (response_format), PaymentRequired (no balance),
    NotFound, Unprocessable (region, format) and Conflict (input), InvalidRequest (size), TooManyRequests (queue full).
    """
    if attempt and (earlier := idempotency.find(attempt)):
        return jobs.get(organization_id, UUID(earlier))
    if (input_id is None) == (input_s3_uri is None):
        raise Unprocessable("Give exactly one of input_id and input_s3_uri.", param="input_id")
    region = residency.choose(organization_id=organization_id, asked=options.data_residency)
    model = offered(options.model_id, organization_id=organization_id)
    check(model, options)
    plans.of(organization_id).require_output(options.row.max_output_tokens)
    balances.require_positive(organization_id)
    source = inputs.for_job(
        organization_id=organization_id, region=region, input_id=input_id, input_s3_uri=input_s3_uri
    )
    if model.task == "decide" and source.format != inputs.JSONL:
        raise Unprocessable(f"model '{model.id}' takes JSONL input only", param="input_id")
    size = source.size_bytes or 0
    if size > inputs.MAX_INPUT_BYTES:
        raise InvalidRequest(f"The input file has {size:,} bytes; at most {inputs.MAX_INPUT_BYTES:,} are allowed.")
    job = draft(source, model, options.row, actor, options.urgency)
    return create(job, stored=schema_of(job, options.row), actor=actor, attempt=attempt)


def schema_of(job: Job, row: RowOptions) -> dict[str, bytes]:
    """The job's response_format as an object, under its key; nothing where it has none."""
    if row.response_format is None:
        return {}
    return {keys.response_format(job.pk): msgspec.json.encode(row.response_format)}


def create(
    job: Job,
    *,
    stored: Mapping[str, bytes],
    actor: Actor,
    attempt: idempotency.Attempt | None,
    batch: Batch | None = None,
) -> Job:
    """Save a new job with the chunk that checks its input, in one transaction with its attempt; ring the workers.

    `stored` are what its customer wrote, by keys of the job; a `batch` is saved with it. The job of an earlier attempt
    comes back instead, where there is one. Raises Conflict (idempotency, input), TooManyRequests (too many wait),
    StoreUnavailable.
    """
    try:
        with _stored(job, stored), transaction.atomic():
            if attempt and (standing := idempotency.claim(attempt, reference=str(job.pk))) != str(job.pk):
                raise _Repeated(standing)
            _insert(job, batch)
            audit.record(
                organization_id=job.organization_id,
                actor=actor,
                action="job.submitted",
                target=str(job.pk),
                details={"model": job.model_id} | ({"retry_of": str(job.retry_of_id)} if job.retry_of_id else {}),
            )
            ring()
    except _Repeated as repeated:
        return jobs.get(job.organization_id, UUID(repeated.reference))
    return job


class _Repeated(Exception):
    """An attempt at the same time was first; what this one prepared is taken back."""

    def __init__(self, reference: str) -> None:
        super().__init__(reference)
        self.reference = reference


def offered(model_id: str, *, organization_id: UUID) -> Model:
    """The model a job of an organization may name: for sale and served in this region; Unprocessable otherwise.

    Unavailable (503, `vendor_disabled`) with the reason where an operator switched it off with one.
    A custom model of another organization is as unknown as one that does not exist.
    """
    model, region = catalogue.get(model_id), settings.ANEX_REGION
    if model is not None and offers.is_for_sale(model, organization_id=organization_id, region=region):
        if registry.is_served(model_id, region):
            return model
        if reason := registry.off_reason(model_id, region):
            raise registry.switched_off(model_id, reason)
    raise Unprocessable(f"unknown model '{model_id}'", param="model")


def check(model: Model, options: SubmitOptions) -> None:
    """Raise Unprocessable for an option the model does not take, InvalidRequest for a malformed response_format."""
    require_window(model.id, options.urgency)
    if options.row.response_format is not None:
        check_response_format(options.row.response_format)
    check_options(model, options.row)


def require_window(model_id: str, urgency: Urgency) -> None:
    """Raise Unprocessable where a model is not sold with this window."""
    if price_cards.within(model_id, urgency.window) is None:
        raise Unprocessable(
            f"model '{model_id}' is not offered with completion_window {urgency.window}", param="completion_window"
        )


def draft(source: Input, model: Model, row: RowOptions, actor: Actor, urgency: Urgency) -> Job:
    """A job that is not saved yet."""
    return Job(
        id=uuid4(),
        organization_id=source.organization_id,
        input=source,
        region=source.region,
        model_id=model.id,
        task_type=model.task,
        status=Status.SUBMITTED,
        created_by=str(actor),
        traceparent=tracing.traceparent(),
        requested_max_output_tokens=row.max_output_tokens,
        reasoning=row.reasoning,
        reasoning_budget=row.reasoning_budget if model.takes_budget else None,
        reasoning_effort=row.reasoning_effort or "",
        temperature=row.temperature,
        dimensions=row.dimensions,
        video_fps=row.video_fps,
        row_profile=row.profile.name,
        completion_window=urgency.window,
        share=urgency.share,
        priority=urgency.priority,
        has_response_format=row.response_format is not None,
    )


def _insert(job: Job, batch: Batch | None) -> None:
    # Two submits at once see each other's job: they queue up behind the organization's row.
    Organization.objects.select_for_update(no_key=True).get(pk=job.organization_id)
    _refuse_full_queue(job.organization_id, of_batches=batch is not None)
    inputs.require_ready(job.input)
    job.save(force_insert=True)
    if batch is not None:
        batch.save(force_insert=True)
    Chunk.objects.create(job=job, kind=Chunk.Kind.VALIDATE, index=0, byte_end=job.input.size_bytes or 0)
    transitions.record(job.pk, Status.SUBMITTED, actor=job.created_by)


def _refuse_full_queue(organization_id: UUID, *, of_batches: bool) -> None:
    """Batches wait for nobody's decision, so they have a longer queue of their own."""
    most = MAX_VALIDATING if of_batches else MAX_WAITING
    if jobs.waiting_count(organization_id, batches=of_batches) < most:
        return
    if of_batches:
        raise TooManyRequests(
            f"{most} batches of this organization are validating, or wait for credits. Try again once some have begun.",
            code="too_many_batches",
            retry_after=QUEUE_RETRY_S,
        )
    raise TooManyRequests(
        f"The approval queue is full: {most} jobs of this organization are awaiting approval. "
        "Approve or cancel some of them, then submit again.",
        code="approval_queue_full",
        retry_after=QUEUE_RETRY_S,
    )


@contextmanager
def _stored(job: Job, objects: Mapping[str, bytes]) -> Iterator[None]:
    """Keep what a customer wrote in the region's store before the job names it; take it back if there is no job."""
    if not objects:
        yield
        return
    place = store(job.region)
    for key, data in objects.items():
        place.put(key, data)
    try:
        yield
    except Exception:
        with suppress(StoreUnavailable):
            place.delete(objects)
        raise
