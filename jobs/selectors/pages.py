"""An organization's jobs page by page, newest first; a page begins where the one before ended, whatever came since."""

import base64
import struct
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from jobs.models import Job

_DIGITS = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">q16s")  # microseconds since the epoch, id


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: jobs that come after it are older, or as old and of a lower id."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Filters:
    """Which jobs are listed; None leaves out no job. Both times are exclusive, `created_by` is who submitted.

    `id_begins` is the beginning of an id in hexadecimal digits, without hyphens.
    """

    statuses: Collection[str] | None = None
    model_id: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    created_by: str | None = None
    id_begins: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Up to `limit` jobs with their inputs; `end` is where the next page begins, None after the last one."""

    jobs: list[Job]
    end: Place | None


def encode(place: Place) -> str:
    """A place as a cursor, which means nothing to its reader."""
    moment = (place.created_at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(_CURSOR.pack(moment, place.id.bytes)).decode()


def decode(cursor: str) -> Place:
    """The place of a cursor; ValueError for what is none."""
    try:
        moment, id_bytes = _CURSOR.unpack(base64.b64decode(cursor, b"-_", validate=True))
        return Place(_EPOCH + timedelta(microseconds=moment), UUID(bytes=id_bytes))
    except (struct.error, OverflowError) as error:
        raise ValueError(cursor) from error


def page(organization_id: UUID, *, filters: Filters, after: Place | None, limit: int) -> Page:
    """The next `limit` jobs of the organization that the filters let through, in one query."""
    listed = _filtered(Job.objects.filter(organization_id=organization_id), filters)
    if after is not None:
        # The first condition is what the index knows; the second one decides among jobs of one moment.
        listed = listed.filter(
            Q(created_at__lte=after.created_at) & (Q(created_at__lt=after.created_at) | Q(pk__lt=after.id))
        )
    found = list(listed.select_related("input").order_by("-created_at", "-pk")[: limit + 1])
    jobs, more = found[:limit], len(found) > limit
    return Page(jobs, Place(jobs[-1].created_at, jobs[-1].pk) if more else None)


def _filtered(jobs: QuerySet[Job], filters: Filters) -> QuerySet[Job]:
    if filters.statuses is not None:
        jobs = jobs.filter(status__in=filters.statuses)
    if filters.model_id is not None:
        jobs = jobs.filter(model_id=filters.model_id)
    if filters.created_after is not None:
        jobs = jobs.filter(created_at__gt=filters.created_after)
    if filters.created_before is not None:
        jobs = jobs.filter(created_at__lt=filters.created_before)
    if filters.created_by is not None:
        jobs = jobs.filter(created_by=filters.created_by)
    if filters.id_begins is not None:
        # A range of ids is what the index of ids knows.
        first, last = (UUID(hex=filters.id_begins.ljust(_DIGITS, digit)) for digit in "0f")
        jobs = jobs.filter(pk__range=(first, last))
    return jobs
