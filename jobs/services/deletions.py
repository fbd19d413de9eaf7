"""Deletion of a job's data before its days are over (reference 001, DELETE /jobs/{id}/data).

The wish is written down first, in the transaction that stops the job; from then on every sweep sees to it.
"""

from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Job
from jobs.selectors import jobs
from jobs.services import cancellations, erasing
from jobs.services.endings import cancel_unstarted


def delete_data(*, organization_id: UUID, job_id: UUID, actor: Actor) -> Job:
    """Delete a finished job's data now, or stop the job and have its data deleted once it has stopped.

    `data_deleted_at` of the answer is None in the latter case. Repeating the call changes nothing. Raises NotFound,
    and StoreUnavailable (503) when the data could not be deleted now: then a sweep will.
    """
    job, stopped = _stop(organization_id, job_id, actor)
    if stopped and job.data_deleted_at is None and job.region == settings.ANEX_REGION:
        erasing.erase(job)
    return job


@transaction.atomic
def _stop(organization_id: UUID, job_id: UUID, actor: Actor) -> tuple[Job, bool]:
    """The job, and whether nothing works on it any more."""
    job = jobs.locked(organization_id, job_id)
    if job.data_deleted_at is not None:
        return job, True
    if job.deletion_asked_at is None:
        job.deletion_asked_at = clock.now()
        job.save(update_fields=["deletion_asked_at"])
        audit.record(organization_id=organization_id, actor=actor, action="job.data_deleted", target=str(job.pk))
    match job.status:
        case Status.SUBMITTED | Status.COST_READY | Status.IN_PROGRESS:
            job = cancellations.cancel(organization_id=organization_id, job_id=job_id, actor=actor)
        case Status.ESTIMATING:
            # A worker may be reading the file: what it writes yet is left to the sweep.
            cancel_unstarted(job, stop_reason=cancellations.STOP_REASON, actor=actor, now=clock.now())
            return job, False
    return job, job.status in TERMINAL
