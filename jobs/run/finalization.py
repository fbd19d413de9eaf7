"""Ends a job: has its file written, or the two of a batch, then commits status, counts, charge and release together.

Claimed like a chunk; keys of files are random per attempt, so two attempts never write the same object, and only the
committed ones are named.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Min, Sum

from anex.core import clock
from anex.core.actors import Actor, system
from anex.core.money import NANO_PER_CENT, ceil_cents, cents_to_nano
from anex.core.usage import Usage
from billing import pricing
from billing.services import holds, usage
from jobs import pace, storage
from jobs.batch_status import EXPIRED
from jobs.lifecycle import Status
from jobs.models import Chunk, File, Job, Part
from jobs.run import claims, writing
from jobs.run.claims import Claim
from jobs.run.writing import Written
from jobs.selectors import batches
from jobs.services import files
from jobs.services.endings import DATA_KEPT
from jobs.services.transitions import advance

log = logging.getLogger(__name__)

COUNTS = ("success_rows", "error_rows", "format_error_rows", "truncated_rows")
TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
SUMS: dict[str, Any] = {
    "cost": Sum("cost_nano"),
    "parts": Count("pk"),
    "first_at": Min("created_at"),
    "last_at": Max("created_at"),
    **{name: Sum(name) for name in COUNTS + TOKENS},
}
TRIES = 3  # of a result in the customer's format
OUTCOMES = {
    "cancelled": Status.CANCELLED,
    EXPIRED: Status.CANCELLED,
    "internal_error": Status.FAILED,
    "": Status.DONE,
}


def finish_rows(job_id: UUID) -> bool:
    """Move a running job on when its last rows chunk is closed; returns whether it moved."""
    # Whoever closes the last chunk sees it closed; a locked job would be passed by claims for nothing.
    if Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.ROWS, closed=False).exists():
        return False
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job_id)
        if Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.ROWS, closed=False).exists():
            return False
        moved = advance(job_id, to=Status.FINALIZING, actor=system("worker"))
        if moved:
            Chunk.objects.get_or_create(job_id=job_id, kind=Chunk.Kind.FINALIZE, index=0)
    return moved


def finalize(claim: Claim, *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Write the result and settle, behind a fence: a row that is not committed by then never will be."""
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=claim.job_id)
        claims.fence(claim.job_id)
    job = Job.objects.select_related("input").get(pk=claim.job_id)
    store = storage.store(job.region)
    if batches.is_batch(job.pk):
        written = writing.write_batch(store, job, go_on)
    else:
        written = writing.write_result(store, job, go_on, last_try=claim.claims >= TRIES)
    if not _settle(claim, written):
        store.delete(written.keys)


def _settle(claim: Claim, written: Written) -> bool:
    now = clock.now()
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=claim.job_id)
        if job.status not in (Status.FINALIZING, Status.CANCELLING):
            return False
        delivered = Part.objects.filter(chunk__job_id=job.pk, chunk__kind=Chunk.Kind.ROWS)
        sums = delivered.aggregate(**SUMS)
        counts = {name: sums[name] or 0 for name in COUNTS}
        rows = sum(counts.values())
        charge = _charge(job, counts, delivered_nano=sums["cost"] or 0)
        settlement = holds.settle(source=f"job:{job.pk}", charge_nano=charge, actor=system("finalization"))
        usage.record(
            source=f"job:{job.pk}",
            surface="batch",
            model_id=job.model_id,
            actor=Actor.parse(job.created_by),
            requests=rows,
            usage=Usage(*(sums[name] or 0 for name in TOKENS)),
        )
        outcome = OUTCOMES[job.stop_reason]
        Chunk.objects.filter(job_id=job.pk).update(closed=True)
        moved = advance(
            job.pk,
            to=outcome,
            actor=system("finalization"),
            **counts,
            **(_pace(job, sums, rows) if outcome is Status.DONE else {}),
            charge_cents=settlement.captured_nano // NANO_PER_CENT,
            result_key=written.result.key if written.result else "",
            result_rows=written.rows,
            result_bytes=written.result.size if written.result else None,
            partial=outcome is not Status.DONE and rows > 0,
            failure_code="internal_error" if outcome is Status.FAILED else "",
            finished_at=now,
            data_expires_at=now + DATA_KEPT,
        )
        if moved and batches.is_batch(job.pk):
            _deliver(job, written)
        return moved


def _deliver(job: Job, written: Written) -> None:
    """Give a batch its files."""
    for part, stored in ((File.Part.OUTPUT, written.result), (File.Part.ERROR, written.errors)):
        if stored:
            files.deliver(job=job, part=part, stored=stored)


def _pace(job: Job, sums: dict[str, Any], rows: int) -> dict[str, float]:
    """How fast a finished job went, where it was not paused: by what it wrote, or read where it writes nothing."""
    if job.paused_at is not None or job.approved_at is None or sums["first_at"] is None:
        return {}
    measured = pace.measure(
        approved_at=job.approved_at,
        first_part_at=sums["first_at"],
        last_part_at=sums["last_at"],
        parts=sums["parts"],
        tokens=sums["output_tokens"] if job.task_type == "chat" else sums["input_tokens"],
        rows=rows,
    )
    return asdict(measured) if measured else {}


def _charge(job: Job, counts: dict[str, int], *, delivered_nano: int) -> int:
    """In nano-dollars; nothing where no row was answered. A format error may be a refusal, which consumed nothing."""
    answered = (
        counts["success_rows"] + counts["truncated_rows"] + (counts["format_error_rows"] if delivered_nano else 0)
    )
    card = pricing.PriceCard.thaw(job.prices or {})
    quote_nano = cents_to_nano(job.quote_cents or 0)
    charge = pricing.charge_nano(card, quote_nano=quote_nano, delivered_nano=delivered_nano, delivered_rows=answered)
    if cents_to_nano(ceil_cents(delivered_nano)) > quote_nano:
        log.error(
            "job %s consumed %d nano-dollars over its quote; the loss is ours", job.pk, delivered_nano - quote_nano
        )
    return charge
