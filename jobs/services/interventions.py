"""What staff do to a job of a customer's that cannot go on by itself; each leaves the reason in the audit record."""

from uuid import UUID

import msgspec
from django.db import transaction

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Chunk, Job
from jobs.selectors import jobs
from jobs.selectors.contents import Failure
from jobs.services import cancellations, deliveries, residency
from jobs.services.doorbell import ring
from jobs.services.endings import fail_unstarted
from jobs.services.transitions import advance
from jobs.storage import keys, store

STOP_REASON = "internal_error"


@transaction.atomic
def cancel(*, organization_id: UUID, job_id: UUID, actor: Actor, reason: str) -> Job:
    """Stop a job as its owner could. Raises InvalidRequest (no reason) and what `cancellations.cancel` does."""
    audit.require_reason(reason)
    return cancellations.cancel(organization_id=organization_id, job_id=job_id, actor=actor, reason=reason)


@transaction.atomic
def requeue(*, organization_id: UUID, job_id: UUID, actor: Actor, reason: str) -> int:
    """Take a job's open work from whoever holds it, for any worker to claim afresh; how many chunks.

    What was in flight is sent once more: a part of a former holder is refused. Repeatable. Raises InvalidRequest (no
    reason), NotFound, Conflict (it is over, or nothing of it is to be done now).
    """
    audit.require_reason(reason)
    job = jobs.locked(organization_id, job_id)
    if job.status in TERMINAL:
        raise Conflict(f"There is nothing to do for this job any more: it is {job.status}.")
    freed = Chunk.objects.filter(job=job, closed=False).update(epoch=None, claims=0, cursor=None)
    if not freed:
        raise Conflict(f"This job is {job.status}: no worker has anything to do for it.")
    ring()
    _record("job.staff_requeue", job, actor, reason, chunks=freed)
    return freed


def fail(*, organization_id: UUID, job_id: UUID, actor: Actor, reason: str) -> Job:
    """End a job as failed by our fault; its owner reads the reason.

    Before rows ran nothing is charged; of a running job what is done is delivered and charged, as ever. Raises
    InvalidRequest (no reason), NotFound, Misdirected (the other region's), Conflict (a quote only waits: cancel it; or
    too late), StoreUnavailable.
    """
    audit.require_reason(reason)
    job = jobs.get(organization_id, job_id)
    residency.require_here(job.region)
    _require_may_fail(job)
    # Before the status that leads people to it; where another ending comes first, nobody is shown it.
    store(job.region).put(keys.failure(job.pk), msgspec.json.encode(Failure(reason)))
    with transaction.atomic():
        job = jobs.locked(organization_id, job_id)
        _require_may_fail(job)
        if job.status == Status.IN_PROGRESS:
            _stop_rows(job, actor)
        else:
            fail_unstarted(job, actor=actor, now=clock.now())
        _record("job.staff_fail", job, actor, reason)
    return job


@transaction.atomic
def resend(*, organization_id: UUID, delivery_id: UUID, actor: Actor, reason: str) -> None:
    """Send an event again, as its owner could. Raises InvalidRequest (no reason) and what `deliveries.resend` does."""
    audit.require_reason(reason)
    deliveries.resend(organization_id=organization_id, delivery_id=delivery_id, actor=actor, reason=reason)


def _require_may_fail(job: Job) -> None:
    if job.status == Status.COST_READY:
        raise Conflict("This job only waits for its owner's approval: cancel it instead.")
    if job.status not in (Status.SUBMITTED, Status.ESTIMATING, Status.IN_PROGRESS):
        raise Conflict(f"It is too late to fail this job: it is {job.status}.")


def _stop_rows(job: Job, actor: Actor) -> None:
    if advance(job.pk, to=Status.FINALIZING, actor=actor, stop_reason=STOP_REASON):
        # From here on no part of the job can be committed: its rows belong to nobody.
        Chunk.objects.filter(job=job, kind=Chunk.Kind.ROWS).update(epoch=None)
        Chunk.objects.get_or_create(job=job, kind=Chunk.Kind.FINALIZE, index=0)
        job.status, job.stop_reason = Status.FINALIZING, STOP_REASON
        ring()


def _record(action: str, job: Job, actor: Actor, reason: str, **details: int) -> None:
    audit.record(
        organization_id=job.organization_id,
        actor=actor,
        action=action,
        target=str(job.pk),
        reason=reason,
        details=details,
    )
