"""What is kept for how long (reference 001): uploads that never came, and files past their seven days."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest

from anex.core import sweeps
from jobs.lifecycle import TERMINAL
from jobs.models import File, Input, Job
from jobs.services.inputs import UPLOAD_GRACE, erase_objects, settle_at
from jobs.storage import store

# A submit that found the input ready has made its job by then, and an upload that was on its way has ended.
MARGIN = timedelta(minutes=10)
# Longer than anything is being written.
UNFINISHED = timedelta(days=1)
ENDED = (Input.State.EXPIRED, Input.State.FAILED)


def expire_inputs(now: datetime) -> int:
    """Mark lapsed inputs expired and delete the objects of those and of failed ones; answers how many were deleted.

    An object that a running job still reads stays until the job has ended. Safe to repeat and to run twice at once; one
    that cannot be deleted holds up no other. Raises StoreUnavailable; the next sweep goes on from there.
    """
    here = Input.objects.filter(region=settings.ANEX_REGION)
    lapsed = Q(status=Input.State.AWAITING_UPLOAD, upload_expires_at__lte=now - UPLOAD_GRACE) | Q(
        status=Input.State.READY, expires_at__lte=now
    )
    sweeps.each(here.filter(lapsed).order_by("?").iterator(), lambda source: bool(settle_at(source, now)))
    # The later of both: while its window is open, a file that was deleted can be uploaded again.
    purgeable = _unread(here).annotate(lapsed_at=Greatest("expires_at", F("upload_expires_at") + UPLOAD_GRACE))

    def purge(source: Input) -> int:
        erase_objects(source)
        File.objects.filter(input=source, purged_at=None).update(purged_at=now)
        return Input.objects.filter(pk=source.pk, purged_at=None).update(purged_at=now)

    lapsed_ones = purgeable.filter(purged_at=None, lapsed_at__lte=now - MARGIN)
    return sweeps.each(lapsed_ones.order_by("?").iterator(), purge)


def withdraw(input_id: UUID, now: datetime) -> None:
    """Expire an input before its days and delete its file, unless a job that is not over reads it: then the sweep will.

    Nothing is submitted on it from now on (`inputs.require_ready`). Raises StoreUnavailable.
    """
    source = Input.objects.filter(pk=input_id)
    source.filter(status=Input.State.READY).update(status=Input.State.EXPIRED, expires_at=now)
    File.objects.filter(input_id=input_id, purged_at=None).update(purged_at=now)
    for unread in _unread(source).filter(purged_at=None):
        erase_objects(unread)


def discard_unfinished(now: datetime) -> int:
    """Drop what uploads and workers that died left half written; answers how many. Raises StoreUnavailable."""
    return store(settings.ANEX_REGION).discard_unfinished(before=now - UNFINISHED)


def _unread(inputs: QuerySet[Input]) -> QuerySet[Input]:
    """Those expired or failed that no job will read any more."""
    reading = Job.objects.filter(input=OuterRef("pk")).exclude(status__in=TERMINAL)
    return inputs.filter(~Exists(reading), status__in=ENDED)
