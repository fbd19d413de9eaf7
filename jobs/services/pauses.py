"""Pausing: a job whose rows wait while its status stays `in_progress`.

A claim takes the job's row FOR SHARE and a pause takes it FOR UPDATE, so no chunk is claimed once a pause is
committed; workers that are at one send no new row from their next look on, and give it back when those in flight are
durable. Whatever moves the job on ends the pause.
"""

from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.selectors import jobs
from jobs.services.doorbell import ring


def pause(*, organization_id: UUID, job_id: UUID, actor: Actor) -> Job:
    """Send no further row; rows in flight finish and count. Conflict unless the job is in progress; safe to repeat."""
    return _set(True, organization_id=organization_id, job_id=job_id, actor=actor)


def resume(*, organization_id: UUID, job_id: UUID, actor: Actor) -> Job:
    """Go on where the pause began. Conflict unless the job is in progress; safe to repeat."""
    return _set(False, organization_id=organization_id, job_id=job_id, actor=actor)


@transaction.atomic
def _set(paused: bool, *, organization_id: UUID, job_id: UUID, actor: Actor) -> Job:
    job = jobs.locked(organization_id, job_id)
    if job.status != Status.IN_PROGRESS:
        verb = "paused" if paused else "resumed"
        raise Conflict(f"Only a job in progress can be {verb}: this one is {job.status}.")
    if job.paused == paused:
        return job
    job.paused = paused
    if paused:
        job.paused_at = clock.now()
    job.save(update_fields=["paused", "paused_at"])
    action = "job.paused" if paused else "job.resumed"
    audit.record(organization_id=organization_id, actor=actor, action=action, target=str(job.pk))
    ring()
    return job
