"""Ends a job: merges its parts into one file in input order, then commits status, counts, charge and release together.

Claimed like a chunk; the file's key is random per attempt, so two attempts never write the same object, and only the
committed one is named.
"""

import logging
from collections.abc import Callable, Iterator
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
from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Part
from jobs.run import claims, parts
from jobs.run.claims import Claim, Interrupted
from jobs.run.parquet import process
from jobs.run.parquet.parent import Lost
from jobs.run.parquet.process import Unreadable
from jobs.services.endings import DATA_KEPT
from jobs.services.inputs import JSONL, PARQUET
from jobs.services.transitions import advance
from jobs.storage import keys
from jobs.storage.interface import ObjectChanged, ObjectMissing, Store, Stored

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
OUTCOMES = {"cancelled": Status.CANCELLED, "internal_error": Status.FAILED, "": Status.DONE}


def finish_rows(job_id: UUID) -> bool:
    """Move a running job on when its last rows chunk is closed; returns whether it moved."""
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
    stored, rows = _write_result(store, job, go_on, last_try=claim.claims >= TRIES)
    if not _settle(claim, stored, rows) and stored:
        store.delete([stored.key])


def _write_result(store: Store, job: Job, go_on: Callable[[], bool], *, last_try: bool) -> tuple[Stored | None, int]:
    """The merged file and its number of rows; no file when there is nothing to deliver.

    Where a parquet input cannot be read any more, the rows are delivered without its columns; where its reader was
    killed, only at the last try. Before that, raises Lost.
    """
    if job.input.format == PARQUET:
        try:
            return _write(store, job, PARQUET, go_on)
        except (ObjectChanged, ObjectMissing, Unreadable, Lost) as error:
            if isinstance(error, Lost) and not last_try:
                raise
            log.warning("the result of job %s is JSON Lines, not parquet: %r", job.pk, error)
    return _write(store, job, JSONL, go_on)


def _write(store: Store, job: Job, format: str, go_on: Callable[[], bool]) -> tuple[Stored | None, int]:
    with store.writer(keys.result(job.pk, format)) as writer:
        if format == PARQUET:
            with process.downloaded(store, job.input, go_on=go_on) as file:
                merged = _merged(store, job.pk, go_on)
                rows = process.join(file, merged, task=job.task_type, write=writer.write, go_on=go_on)
        else:
            rows = 0
            for _, line in _merged(store, job.pk, go_on):
                writer.write(line)
                rows += 1
    if rows:
        return writer.stored, rows
    store.delete([writer.stored.key])
    return None, 0


def _merged(store: Store, job_id: UUID, go_on: Callable[[], bool]) -> Iterator[tuple[int, bytes]]:
    """The finished rows of a job and their result lines, in input order; one chunk of them is in memory."""
    chunks = Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.ROWS).order_by("index")
    for chunk_id, first_row in chunks.values_list("pk", "first_row"):
        if not go_on():
            raise Interrupted
        objects = Part.objects.filter(chunk_id=chunk_id).order_by("pk").values_list("key", flat=True)
        for row, line in parts.merge(store.read(key) for key in objects):
            yield first_row + row, line


def _settle(claim: Claim, stored: Stored | None, rows: int) -> bool:
    now = clock.now()
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=claim.job_id)
        if job.status not in (Status.FINALIZING, Status.CANCELLING):
            return False
        delivered = Part.objects.filter(chunk__job_id=job.pk, chunk__kind=Chunk.Kind.ROWS)
        sums = delivered.aggregate(**SUMS)
        counts = {name: sums[name] or 0 for name in COUNTS}
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
        return advance(
            job.pk,
            to=outcome,
            actor=system("finalization"),
            **counts,
            **(_pace(job, sums, rows) if outcome is Status.DONE else {}),
            charge_cents=settlement.captured_nano // NANO_PER_CENT,
            result_key=stored.key if stored else "",
            result_rows=rows,
            result_bytes=stored.size if stored else None,
            partial=outcome is not Status.DONE and rows > 0,
            failure_code="internal_error" if outcome is Status.FAILED else "",
            finished_at=now,
            data_expires_at=now + DATA_KEPT,
        )


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
