"""Cancellation (reference 001, POST /jobs/{id}/cancel).

A claim takes the job's row FOR SHARE and a cancel takes it FOR UPDATE, so no chunk is claimed while a cancel decides.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor, system
from anex.core.errors import Conflict
from billing.services import holds
from jobs.batch_status import EXPIRED
from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Part, Worker
from jobs.selectors import batches, jobs
from jobs.services.doorbell import ring
from jobs.services.endings import cancel_unstarted
from jobs.services.transitions import advance

STOP_REASON = "cancelled"


@transaction.atomic
def cancel(*, organization_id: UUID, job_id: UUID, actor: Actor, reason: str = "") -> Job:
    """Stop a job: at once when nothing runs and nothing was answered, else by finalizing what was answered.

    Repeating the call on a job that is already `cancelling` changes nothing. Conflict while the job is estimating, but
    for batches and for the EEA's jobs, whose estimate may take an hour; and once it is finalizing or over (too late).
    The `reason` of staff is kept in the audit record.
    """
    now = clock.now()
    job = jobs.locked(organization_id, job_id)
    match job.status:
        case Status.CANCELLING:
            return job
        case Status.ESTIMATING if not stops_estimates(job):
            raise Conflict(
                "This job is still being estimated, which is free. Wait for cost_ready, then cancel it "
                "or simply do not approve it."
            )
        case Status.SUBMITTED | Status.ESTIMATING | Status.COST_READY:
            cancel_unstarted(job, stop_reason=STOP_REASON, actor=actor, now=now)
        case Status.IN_PROGRESS:
            _stop_running(job, actor=actor, now=now, stop_reason=STOP_REASON)
        case _:
            raise Conflict(f"It is too late to cancel this job: it is {job.status}.")
    audit.record(
        organization_id=organization_id, actor=actor, action="job.cancelled", target=str(job.id), reason=reason
    )
    return job


def stops_estimates(job: Job) -> bool:
    """Whether a job can be cancelled while it is estimated."""
    return job.region != "world" or batches.is_batch(job.pk)


def expire(job: Job, *, now: datetime) -> None:
    """Stop a locked job whose batch's window has closed, as a cancel would; one that is finalizing completes."""
    actor = system("batch_window")
    match job.status:
        case Status.SUBMITTED | Status.ESTIMATING | Status.COST_READY:
            cancel_unstarted(job, stop_reason=EXPIRED, actor=actor, now=now)
        case Status.IN_PROGRESS:
            _stop_running(job, actor=actor, now=now, stop_reason=EXPIRED)


def _stop_running(job: Job, *, actor: Actor, now: datetime, stop_reason: str) -> None:
    _close_idle_chunks(job, now)
    rows = Chunk.objects.filter(job=job, kind=Chunk.Kind.ROWS)
    # A chunk given back since the last statement is neither closed nor leased: finalization decides about it.
    untouched = not rows.filter(closed=False).exists() and not Part.objects.filter(chunk__in=rows).exists()
    # A batch has a line for every row, so even then its error file is written.
    if untouched and not batches.is_batch(job.pk):
        cancel_unstarted(job, stop_reason=stop_reason, actor=actor, now=now)
        holds.settle(source=f"job:{job.id}", charge_nano=0, actor=actor)
        return
    advance(job.id, to=Status.CANCELLING, actor=actor, stop_reason=stop_reason)
    Chunk.objects.get_or_create(job=job, kind=Chunk.Kind.FINALIZE, index=0)
    job.status, job.stop_reason = Status.CANCELLING, stop_reason
    ring()


def _close_idle_chunks(job: Job, now: datetime) -> None:
    """Close what no live worker holds; the claim of a silent one is voided, so its late parts are refused."""
    alive = Worker.objects.filter(
        pk=OuterRef("epoch"), heartbeat_at__gt=now - timedelta(seconds=settings.ANEX_LEASE_SECONDS)
    )
    idle = Chunk.objects.filter(~Exists(alive), job=job, kind=Chunk.Kind.ROWS, closed=False)
    idle.update(closed=True, epoch=None)
