"""Ends a job that ran nothing: no answer, no charge, no result. Jobs that ran rows end in their finalization."""

from datetime import datetime, timedelta
from typing import Any

from anex.core.actors import Actor, system
from jobs.batch_status import EXPIRED
from jobs.lifecycle import Status
from jobs.models import Chunk, Job
from jobs.selectors import batches
from jobs.services.transitions import advance

DATA_KEPT = timedelta(days=30)
# What an ended job shows whose rows never ran.
NOTHING_RAN: dict[str, Any] = {
    "partial": False,
    "charge_cents": 0,
    "success_rows": 0,
    "error_rows": 0,
    "format_error_rows": 0,
    "truncated_rows": 0,
}


def cancel_unstarted(job: Job, *, stop_reason: str, actor: Actor, now: datetime) -> bool:
    """Move a job, locked by the caller's transaction, to `cancelled` with zero counts and no charge.

    Every chunk is closed and its claim voided, so that a worker that still holds one commits nothing.
    """
    outcome = NOTHING_RAN | {"stop_reason": stop_reason, "finished_at": now, "data_expires_at": now + DATA_KEPT}
    if not advance(job.id, to=Status.CANCELLED, actor=actor, **outcome):
        return False
    Chunk.objects.filter(job=job).update(closed=True, epoch=None)
    job.status, job.stop_reason = Status.CANCELLED, stop_reason
    return True


def fail_unstarted(job: Job, *, actor: Actor, now: datetime) -> bool:
    """Move a job, locked by the caller's transaction, to `failed` by our fault, with zero counts and no charge."""
    outcome = NOTHING_RAN | {"failure_code": "internal_error", "finished_at": now, "data_expires_at": now + DATA_KEPT}
    if not advance(job.id, to=Status.FAILED, actor=actor, **outcome):
        return False
    Chunk.objects.filter(job=job).update(closed=True, epoch=None)
    job.status = Status.FAILED
    return True


def is_lapsed(job: Job, now: datetime) -> bool:
    """Whether a quoted job's approval window has closed."""
    return job.approval_expires_at is not None and job.approval_expires_at <= now


def lapse(job: Job, *, now: datetime) -> bool:
    """Cancel a locked job that was not approved in time, free of charge."""
    stop_reason = EXPIRED if batches.is_batch(job.pk) else "approval_expired"
    return cancel_unstarted(job, stop_reason=stop_reason, actor=system("approval_window"), now=now)
