"""What is kept for how long (reference 001): uploads that never came, and files past their seven days."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce

from jobs.lifecycle import TERMINAL
from jobs.models import Input, Job
from jobs.services.inputs import UPLOAD_GRACE, erase_objects, settle_at
from jobs.storage import store

# A submit that found the input ready has made its job by then, and an upload that was on its way has ended.
MARGIN = timedelta(minutes=10)
# Longer than anything is being written.
UNFINISHED = timedelta(days=1)
ENDED = (Input.State.EXPIRED, Input.State.FAILED)


def expire_inputs(now: datetime) -> int:
    """Mark lapsed inputs expired and delete the objects of those and of failed ones; answers how many were deleted.

    An object that a running job still reads stays until the job has ended. Safe to repeat and to run twice at once.
    Raises StoreUnavailable; the next sweep goes on from there.
    """
    here = Input.objects.filter(region=settings.ANEX_REGION)
    lapsed = Q(status=Input.State.AWAITING_UPLOAD, upload_expires_at__lte=now - UPLOAD_GRACE) | Q(
        status=Input.State.READY, expires_at__lte=now
    )
    for source in here.filter(lapsed).iterator():
        settle_at(source, now)
    running = Job.objects.filter(input=OuterRef("pk")).exclude(status__in=TERMINAL)
    purgeable = here.annotate(lapsed_at=Coalesce("expires_at", F("upload_expires_at") + UPLOAD_GRACE)).filter(
        ~Exists(running), status__in=ENDED, purged_at=None, lapsed_at__lte=now - MARGIN
    )
    purged = 0
    for source in purgeable.iterator():
        erase_objects(source)
        purged += Input.objects.filter(pk=source.pk, purged_at=None).update(purged_at=now)
    return purged


def discard_unfinished(now: datetime) -> int:
    """Drop what uploads and workers that died left half written; answers how many. Raises StoreUnavailable."""
    return store(settings.ANEX_REGION).discard_unfinished(before=now - UNFINISHED)
