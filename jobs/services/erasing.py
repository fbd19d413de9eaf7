"""Erases what a job stored: its parts, result, schema and failure sentences, and the file it read.

Objects go first and `data_deleted_at` is set once they are gone, so an erasing that was cut off anywhere is done again.
A worker that lost its chunk may still write an object that nobody will name; a second look finds it. Rows of chunks
and parts stay: they hold numbers.
"""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from anex.core import clock, sweeps
from jobs.lifecycle import TERMINAL
from jobs.models import File, Job
from jobs.selectors import jobs as selectors
from jobs.services import retention
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable

log = logging.getLogger(__name__)

# Beyond its lease, a worker may be at a row for ten minutes, and at the check of the largest file for longer.
LATE_WRITES = timedelta(hours=1)


def erase(job: Job) -> None:
    """Erase a job that is over, in the region of this process; `data_deleted_at` keeps its first value.

    A file that a retry was to take rows from, and did not, is left to the job it belongs to. Raises StoreUnavailable
    with the rest undone, to be repeated.
    """
    now = clock.now()
    File.objects.filter(job=job, purged_at=None).update(purged_at=now)
    _empty(job)
    if not selectors.borrows_input(job):
        retention.withdraw(job.input_id, now)
    Job.objects.filter(pk=job.pk, data_deleted_at=None).update(data_deleted_at=now)
    job.refresh_from_db(fields=["data_deleted_at"])


def erase_if_asked(job_id: UUID) -> None:
    """Erase a job that has just ended where that was asked for; a store that is away leaves it to the sweep."""
    asked = Job.objects.filter(deletion_asked_at__isnull=False, data_deleted_at=None, status__in=TERMINAL)
    job = asked.filter(pk=job_id).first()
    if job is None:
        return
    try:
        erase(job)
    except StoreUnavailable as error:
        log.info("the data of job %s has to wait: %s", job_id, error.message)


def erase_due(now: datetime) -> int:
    """Erase every job whose data is past its days or unwanted; answers how many. Raises StoreUnavailable.

    Safe to repeat and to run twice at once; one that cannot be erased holds up no other.
    """
    due = Q(data_expires_at__lte=now) | Q(deletion_asked_at__isnull=False)
    jobs = Job.objects.filter(due, region=settings.ANEX_REGION, data_deleted_at=None, status__in=TERMINAL)

    def erase_one(job: Job) -> int:
        erase(job)
        return 1

    return sweeps.each(jobs.order_by("?").iterator(), erase_one)


def look_again(now: datetime) -> int:
    """Delete what was still written for jobs erased a while ago; answers how many jobs were looked at."""
    since = now - LATE_WRITES - timedelta(seconds=settings.ANEX_LEASE_SECONDS)
    erased = Job.objects.filter(region=settings.ANEX_REGION, data_deleted_at__lte=since, leftovers_deleted_at=None)

    def look(job: Job) -> int:
        _empty(job)
        return Job.objects.filter(pk=job.pk, leftovers_deleted_at=None).update(leftovers_deleted_at=now)

    return sweeps.each(erased.order_by("?").iterator(), look)


def _empty(job: Job) -> None:
    """Delete what is listed under the job's prefix until nothing is."""
    objects, prefix = store(job.region), keys.job_prefix(job.pk)
    while next(objects.list(prefix), None):
        objects.delete(stored.key for stored in objects.list(prefix))
