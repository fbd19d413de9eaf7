"""What time alone does to jobs and to the list of workers."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef

from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Worker
from jobs.services.endings import lapse

# Far longer than any lease.
SILENCE = timedelta(days=1)


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


def forget_workers(now: datetime) -> int:
    """Delete workers that were killed long ago and hold no open chunk; returns how many."""
    holds = Chunk.objects.filter(epoch=OuterRef("pk"), closed=False)
    forgotten, _ = Worker.objects.filter(~Exists(holds), heartbeat_at__lte=now - SILENCE).delete()
    return forgotten
