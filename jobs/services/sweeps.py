"""What time alone does to jobs."""

from datetime import datetime

from django.db import transaction

from jobs.lifecycle import Status
from jobs.models import Job
from jobs.services.endings import lapse


def cancel_unapproved(now: datetime) -> int:
    """Cancel, free of charge, every job whose approval window closed by `now`; returns how many.

    Each job is its own transaction, and one that somebody is deciding about right now is left to the next sweep.
    """
    lapsed = Job.objects.filter(status=Status.COST_READY, approval_expires_at__lte=now)
    cancelled = 0
    for job_id in lapsed.values_list("pk", flat=True):
        with transaction.atomic():
            job = lapsed.select_for_update(skip_locked=True).filter(pk=job_id).first()
            if job is not None:
                cancelled += lapse(job, now=now)
    return cancelled
