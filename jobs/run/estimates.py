"""Prices a job: exact input tokens, and an output cap that is given or measured on a sample of the rows.

The cap of a sample is the bound of `jobs.tolerance`; the quote built on it is also the most that is charged.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Max, Sum

from anex.core import clock
from anex.core.actors import system
from anex.core.money import ceil_cents
from anex.core.usage import Usage
from billing import price_cards, pricing
from inference import catalogue
from jobs import storage, tolerance
from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Part
from jobs.run.context import room_for_output
from jobs.run.failures import fail_estimate
from jobs.run.problems import Problem
from jobs.services import auto_approvals, doorbell
from jobs.services.transitions import advance

log = logging.getLogger(__name__)

APPROVAL_WINDOW = timedelta(hours=24)
RECENT_JOBS = 5
# What its column holds; decades, so nothing is lost.
MAX_EXPECTED_SECONDS = 2**31 - 1


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
    """When the last sample chunk is closed: set the cap and quote, or fail with what the customer can do."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job_id)
        open_chunks = Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.SAMPLE, closed=False)
        if job.status != Status.ESTIMATING or open_chunks.exists():
            return
        measured = Part.objects.filter(chunk__job_id=job_id, chunk__kind=Chunk.Kind.SAMPLE).aggregate(
            longest=Max("longest_output_tokens", default=0),
            answered=Sum("success_rows", default=0) + Sum("format_error_rows", default=0),
            truncated=Sum("truncated_rows", default=0),
        )
        model = catalogue.get(job.model_id)
        if model is None:
            log.warning("job %s waits for a worker that knows model %s", job_id, job.model_id)
            return
        room = room_for_output(model, job)
        answered, truncated = measured["answered"], measured["truncated"]
        problem = _sample_problem(answered, truncated, room)
        if problem is None and price_cards.current(job.model_id) is None:
            problem = Problem("model_not_offered", 0, f"The model {job.model_id} is no longer offered.")
        if problem is None:
            longest = room if truncated else measured["longest"]
            cap = tolerance.cap(longest, answered=answered + truncated, rows=job.row_count or 0, room=room)
            quote(job_id, output_cap=cap)
            return
    fail_estimate(job_id, storage.store(job.region), problem)


def _sample_problem(answered: int, truncated: int, room: int) -> Problem | None:
    if not answered and not truncated:
        message = "We could not prepare a price for this job automatically: no sampled row was answered. "
        return Problem("sample_failed", 0, message + "Set max_output_tokens, or check the rows on a small job first.")
    if truncated >= answered:
        message = f"The typical answer hits the longest output allowed here ({room:,} tokens) and would be cut off. "
        return Problem("output_too_long", 0, message + "Set max_output_tokens to accept cut answers, or ask for less.")
    return None


def quote(job_id: UUID, *, output_cap: int) -> None:
    """Freeze the prices, set the quote (in cents) and open the approval window; inside the caller's transaction.

    Where the organization's rule covers the quote, the job is approved at once.
    """
    job = Job.objects.get(pk=job_id)
    card = price_cards.current(job.model_id)
    if card is None or job.row_count is None or job.est_input_tokens is None:
        raise LookupError(f"job {job_id} cannot be quoted: model {job.model_id} has no price")
    if job.minimum_paid:
        card = msgspec.structs.replace(card, minimum_job_cents=1)
    nano = _quote_nano(card, job, row_count=job.row_count, input_tokens=job.est_input_tokens, output_cap=output_cap)
    now = clock.now()
    advance(
        job_id,
        to=Status.COST_READY,
        actor=system("estimate"),
        max_output_tokens=output_cap,
        est_output_tokens=job.row_count * output_cap,
        prices=card.frozen(),
        quote_cents=ceil_cents(nano),
        est_processing_seconds=_expected_seconds(job.model_id, job.row_count),
        approval_expires_at=now + APPROVAL_WINDOW,
    )
    auto_approvals.consider(job_id, now=now)


def _quote_nano(card: pricing.PriceCard, job: Job, *, row_count: int, input_tokens: int, output_cap: int) -> int:
    """Rows with and without media are priced apart; the totals of the job are those of both."""
    media = Usage(**job.est_media) if job.est_media else Usage()
    return pricing.quote_nano(
        card,
        rows=row_count - job.media_rows,
        input_tokens=input_tokens - media.input_tokens,
        output_cap=output_cap,
        media_rows=job.media_rows,
        media=media,
    )


def _expected_seconds(model_id: str, rows: int) -> int | None:
    """From approval to result at the pace of this model's recent jobs, but for paused ones; None before the first."""
    recent = Job.objects.filter(
        model_id=model_id, status=Status.DONE, approved_at__isnull=False, finished_at__isnull=False, paused_at=None
    ).order_by("-finished_at")[:RECENT_JOBS]
    spans = [(job.result_rows or 0, (job.finished_at - job.approved_at).total_seconds()) for job in recent]  # type: ignore[operator]
    total_rows, total_seconds = sum(rows for rows, _ in spans), sum(seconds for _, seconds in spans)
    if not total_rows:
        return None
    return min(max(1, round(rows * total_seconds / total_rows)), MAX_EXPECTED_SECONDS)
