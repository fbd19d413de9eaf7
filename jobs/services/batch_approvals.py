"""Batches are approved by themselves, as soon as they are priced and the quote is covered (000, batch approval)."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from anex.core.actors import Actor, system
from anex.core.errors import InsufficientQuota, PaymentRequired
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.services import approvals
from jobs.services.endings import is_lapsed

ACTOR = system("batch")


def consider(job_id: UUID, *, now: datetime) -> bool:
    """Approve a batch's priced job, which the caller's transaction has locked, where nothing forbids it.

    Else it waits for the next sweep: the organization is suspended, the balance with its credit limit does not cover
    the quote, or it is past a ceiling of the key that made it.
    """
    job = Job.objects.select_related("organization").get(pk=job_id)
    if job.organization.suspended_at or is_lapsed(job, now):
        return False
    try:
        creator = Actor.parse(job.created_by)
        approvals.approve(organization_id=job.organization_id, job_id=job_id, actor=ACTOR, payer=creator)
    except (PaymentRequired, InsufficientQuota):
        return False
    return True


def approve_waiting(now: datetime) -> int:
    """Try the batches that wait for approval again, the oldest first; returns how many were approved.

    Each is its own transaction, and one that somebody is deciding about right now is left to the next sweep.
    """
    waiting = Job.objects.filter(batch__isnull=False, status=Status.COST_READY, approval_expires_at__gt=now)
    approved = 0
    for job_id in waiting.order_by("created_at").values_list("pk", flat=True):
        with transaction.atomic():
            if waiting.select_for_update(skip_locked=True, of=("self",)).filter(pk=job_id).exists():
                approved += consider(job_id, now=now)
    return approved
