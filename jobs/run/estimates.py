"""Prices a job: exact input tokens, and an output cap that is given or measured on a sample of the rows.

Cap and thinking budget of a sample are those of `jobs.sizing`; the quote built on the cap is the most that is charged.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from anex.core import clock
from anex.core.actors import system
from anex.core.money import ceil_cents
from billing import price_cards
from inference import catalogue
from inference.requests.thinking import leaves_budget_open
from jobs import batch_status, expectation, pace, sizing, storage
from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Part
from jobs.run import costs
from jobs.run.context import room_for_output
from jobs.run.failures import fail_estimate
from jobs.run.problems import Problem
from jobs.selectors import batches, paces
from jobs.services import auto_approvals, batch_approvals, doorbell
from jobs.services.transitions import advance
from jobs.sizing import Length, Limits, Misfit, Sizes

log = logging.getLogger(__name__)

APPROVAL_WINDOW = timedelta(hours=24)


@dataclass(frozen=True, slots=True, order=True)
class SampledRow:
    """A row that is run before the quote: its place among the rows, and its bytes [start, end) of the input."""

    row: int
    start: int
    end: int


def plan_sample(job_id: UUID, sampled: Sequence[SampledRow]) -> None:
    """Create chunks of kind `sample` of the rows that were drawn; neighbours share one, the others run side by side."""
    runs: list[list[SampledRow]] = []
    for row in sorted(sampled):
        if runs and row.row == runs[-1][-1].row + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    Chunk.objects.bulk_create(
        Chunk(
            job_id=job_id,
            kind=Chunk.Kind.SAMPLE,
            index=index,
            first_row=rows[0].row,
            row_count=len(rows),
            byte_start=rows[0].start,
            byte_end=rows[-1].end,
            done="0" * len(rows),
        )
        for index, rows in enumerate(runs)
    )
    doorbell.ring()


def finish_sample(job_id: UUID) -> None:
    """When the last sample chunk is closed: set cap, budget and quote, or fail with what the customer can do."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job_id)
        open_chunks = Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.SAMPLE, closed=False)
        if job.status != Status.ESTIMATING or open_chunks.exists():
            return
        model = catalogue.get(job.model_id)
        if model is None:
            log.warning("job %s waits for a worker that knows model %s", job_id, job.model_id)
            return
        lengths = _measured(job)
        try:
            sizes = sizing.size(lengths, _limits(job, model))
        except Misfit as misfit:
            problem = Problem(misfit.code, 0, misfit.message)
        else:
            unsold = not_offered(job)
            if unsold is None:
                quote(job_id, output_cap=sizes.output_cap, sample=(lengths, sizes))
                return
            problem = unsold
    fail_estimate(job_id, storage.store(job.region), problem)


def not_offered(job: Job) -> Problem | None:
    """What is wrong with a job whose model is not sold any more, or not within its window; None where it is."""
    if price_cards.within(job.model_id, job.completion_window) is not None:
        return None
    within = f" with completion_window {job.completion_window}" if price_cards.current(job.model_id) else ""
    return Problem("model_not_offered", 0, f"The model {job.model_id} is no longer offered{within}.")


def _measured(job: Job) -> list[Length]:
    parts = Part.objects.filter(chunk__job=job, chunk__kind=Chunk.Kind.SAMPLE, lengths__isnull=False)
    rows = (row for lengths in parts.values_list("lengths", flat=True) for row in lengths or ())
    return [Length(output, thinking, bool(cut)) for output, thinking, cut in rows]


def _limits(job: Job, model: catalogue.Model) -> Limits:
    return Limits(
        rows=job.row_count or 0,
        room=room_for_output(model, job),
        given=job.requested_max_output_tokens,
        budgeted=leaves_budget_open(model, reasoning=job.reasoning, budget=job.reasoning_budget),
    )


def quote(job_id: UUID, *, output_cap: int, sample: tuple[Sequence[Length], Sizes] | None = None) -> None:
    """Freeze the prices, set the quote (in cents) and open the approval window; inside the caller's transaction.

    A batch, and what the organization's rule covers, is approved at once.
    """
    job = Job.objects.get(pk=job_id)
    card = price_cards.within(job.model_id, job.completion_window)
    if card is None or job.row_count is None or job.est_input_tokens is None:
        raise LookupError(f"job {job_id} cannot be quoted: model {job.model_id} has no price")
    if job.minimum_paid:
        card = msgspec.structs.replace(card, minimum_job_cents=1)
    quote_cents = ceil_cents(costs.quote_nano(card, job, output_cap=output_cap))
    written = _written(job.row_count, *sample) if sample else None
    expected = None
    if written:
        expected = costs.expected(card, job, written=written, quote_cents=quote_cents)
    elif job.task_type != "chat":
        expected = costs.exact(quote_cents)
    now, is_batch = clock.now(), batches.is_batch(job_id)
    advance(
        job_id,
        to=Status.COST_READY,
        actor=system("estimate"),
        max_output_tokens=output_cap,
        estimated_reasoning_budget=sample[1].reasoning_budget if sample else None,
        est_output_tokens=job.row_count * output_cap,
        prices=card.frozen(),
        quote_cents=quote_cents,
        est_processing_seconds=_expected_seconds(job, output_cap, written),
        approval_expires_at=batch_status.expires_at(job.created_at) if is_batch else now + APPROVAL_WINDOW,
        **(asdict(expected) if expected else {}),
    )
    consider = batch_approvals.consider if is_batch else auto_approvals.consider
    consider(job_id, now=now)


def _written(rows: int, lengths: Sequence[Length], sizes: Sizes) -> expectation.Mean:
    return expectation.mean([sizes.written(length) for length in lengths], rows=rows, most=sizes.output_cap)


def _expected_seconds(job: Job, output_cap: int, written: expectation.Mean | None) -> int | None:
    rows, tokens = job.row_count or 0, None
    if job.task_type != "chat":
        tokens = float(job.est_input_tokens or 0)
    elif written:
        tokens = rows * written.expected
    recent = paces.recent(model_id=job.model_id, region=job.region)
    return pace.expected_seconds(recent, rows=rows, tokens=tokens, most_per_row=output_cap)
