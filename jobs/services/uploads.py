"""Files being uploaded to the OpenAI-compatible host: an organization has two places, over all processes.

A place is a row that the process receiving the file renews; it knows which objects a killed process may leave.
"""

import logging
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction

from accounts.models import Organization
from accounts.selectors import freezes
from anex.core import clock, sweeps
from anex.core.actors import Actor
from anex.core.errors import TooManyRequests, Unavailable
from billing.selectors import balances
from inference.requests.batch_lines import Target
from jobs.models import File, FileUpload
from jobs.services import files, residency
from jobs.storage import keys, store
from jobs.storage.interface import Stored

log = logging.getLogger(__name__)

PLACES: Final = 2
# A killed process's place is free after this; a living one renews its three times in that.
LEASE: Final = timedelta(seconds=45)
# How long a file takes is the client's line's doing.
RETRY_S: Final = 10


def begin(*, organization_id: UUID) -> FileUpload:
    """A place for a file that is about to arrive.

    Raises Unavailable (uploads are frozen), Misdirected (residency), PaymentRequired (no balance), TooManyRequests
    (both places are taken).
    """
    freezes.require_open("uploads")
    region = residency.choose(organization_id=organization_id, asked=None)
    balances.require_positive(organization_id)
    with transaction.atomic():
        # Two uploads at once see each other's place: they queue up behind the organization's row.
        Organization.objects.select_for_update(no_key=True).get(pk=organization_id)
        now = clock.now()
        if FileUpload.objects.filter(organization_id=organization_id, lapses_at__gt=now).count() >= PLACES:
            raise TooManyRequests(
                f"This organization is uploading {PLACES} files already. Send this one when one of them has arrived.",
                code="too_many_uploads",
                retry_after=RETRY_S,
            )
        return FileUpload.objects.create(
            id=uuid4(), organization_id=organization_id, region=region, lapses_at=now + LEASE
        )


def renew(upload_id: UUID) -> bool:
    """Keep a place for another while; False where it was given up."""
    return bool(FileUpload.objects.filter(pk=upload_id).update(lapses_at=clock.now() + LEASE))


def complete(upload: FileUpload, *, name: str, target: Target, stored: Stored, actor: Actor) -> File:
    """Make the file of a place whose object is checked and stored, and free the place.

    Raises Unavailable where the place was given up meanwhile, StoreUnavailable.
    """
    store(upload.region).put(keys.file_name(upload.organization_id, upload.pk), name.encode())
    with transaction.atomic():
        freed, _ = FileUpload.objects.filter(pk=upload.pk).delete()
        if not freed:
            raise Unavailable("The upload was held up on our side for too long. Send the file again.")
        return files.create(
            file_id=upload.pk,
            organization_id=upload.organization_id,
            region=upload.region,
            target=target,
            stored=stored,
            actor=actor,
        )


def give_up(upload: FileUpload) -> None:
    """Free a place and delete what the upload left, unless it became a file; repeatable. Raises StoreUnavailable.

    The place is free at once, however long the store takes; what it cannot delete is the sweep's.
    """
    FileUpload.objects.filter(pk=upload.pk).update(lapses_at=clock.now())
    with transaction.atomic():
        if FileUpload.objects.select_for_update().filter(pk=upload.pk).exists():
            _clear(upload)


def sweep(now: datetime) -> int:
    """Give up the uploads of killed processes; answers how many. Raises StoreUnavailable."""
    lapsed = FileUpload.objects.filter(region=settings.ANEX_REGION, lapses_at__lte=now)

    def clear(upload_id: UUID) -> int:
        with transaction.atomic():
            upload = lapsed.select_for_update(skip_locked=True).filter(pk=upload_id).first()
            if upload is not None:
                _clear(upload)
        return upload is not None

    return sweeps.each(lapsed.order_by("?").values_list("pk", flat=True), clear)


def _clear(upload: FileUpload) -> None:
    """Objects first: a row is what finds them again."""
    objects, organization_id = store(upload.region), upload.organization_id
    rows, name = keys.uploaded_file(organization_id, upload.pk), keys.file_name(organization_id, upload.pk)
    objects.discard_unfinished(before=clock.now(), key=rows)
    objects.delete([rows, name])
    upload.delete()
