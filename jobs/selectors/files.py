"""Reads of files of the OpenAI-compatible host, always within one organization."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NoReturn
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from anex.core import clock, threads
from anex.core.errors import NotFound
from jobs.models import File
from jobs.storage import keys, store
from jobs.storage.interface import ObjectMissing

PREFIX: Final = "file-"
# Names are objects: so many are read at once.
_READERS: Final = 16
_DELETED: Final = {
    File.Purpose.BATCH: "uploaded files are kept for 7 days",
    File.Purpose.BATCH_OUTPUT: "results are kept for 30 days",
}


@dataclass(frozen=True, slots=True)
class Page:
    """Up to the asked number of files, and whether more follow."""

    files: list[File]
    has_more: bool


def wire_id(file: File) -> str:
    """The id as clients know it."""
    return f"{PREFIX}{file.pk.hex}"


def get(organization_id: UUID, wire_id: str) -> File:
    """The file with its input or job; NotFound for an unknown or foreign id, saying so where the file was deleted."""
    file = _find(organization_id, wire_id)
    if is_deleted(file, clock.now()):
        refuse_deleted(file)
    return file


def is_deleted(file: File, now: datetime) -> bool:
    """Whether its days are over, or its data was deleted before."""
    return file.purged_at is not None or file.expires_at <= now


def page(
    organization_id: UUID, *, purpose: str | None = None, after: str | None = None, limit: int, ascending: bool = False
) -> Page:
    """The next files behind `after`, newest first or oldest first: those kept in this region and not deleted.

    A page begins where the one before ended, whatever came since. Raises NotFound for an unknown `after`.
    """
    here = File.objects.filter(organization_id=organization_id, region=settings.ANEX_REGION)
    files = here.filter(purged_at=None, expires_at__gt=clock.now()).select_related("input", "job")
    if purpose is not None:
        # One that no file has may be of any characters.
        files = files.filter(purpose=purpose) if purpose in File.Purpose.values else files.none()
    if after is not None:
        files = files.filter(_behind(_find(organization_id, after), ascending=ascending))
    order = ("created_at", "pk") if ascending else ("-created_at", "-pk")
    found = list(files.order_by(*order)[: limit + 1])
    return Page(found[:limit], len(found) > limit)


def name(file: File) -> str:
    """What the file is called. Raises Misdirected (the other region's), StoreUnavailable."""
    if file.input is None:
        return f"batch_{file.job_id.hex if file.job_id else ''}_{file.part}.jsonl"
    try:
        return store(file.region).read(keys.file_name(file.organization_id, file.input.pk)).decode()
    except ObjectMissing:
        return f"{wire_id(file)}.jsonl"


def names(files: list[File]) -> list[str]:
    """What each file is called; raises as `name`."""
    with threads.readers(_READERS, "names") as readers:
        return list(readers.map(name, files))


def object_of(file: File) -> tuple[str, str]:
    """The key and the ETag of what the file holds."""
    return (file.key, file.etag) if file.input is None else (file.input.key, file.input.etag)


def refuse_unknown(wire_id: str) -> NoReturn:
    """The one answer to an id that names nothing here: malformed, unknown and foreign ids look alike."""
    raise NotFound(f"No file '{wire_id[:64]}' in this organization.")


def refuse_deleted(file: File) -> NoReturn:
    """The answer to the id of a file that is no more."""
    kept = _DELETED[File.Purpose(file.purpose)]
    raise NotFound(f"The file '{wire_id(file)}' was deleted: {kept}.", code="file_deleted")


def _find(organization_id: UUID, wire_id: str) -> File:
    try:
        file_id = UUID(hex=wire_id.removeprefix(PREFIX))
    except ValueError:
        refuse_unknown(wire_id)
    if wire_id != f"{PREFIX}{file_id.hex}":
        refuse_unknown(wire_id)
    files = File.objects.filter(organization_id=organization_id, pk=file_id)
    return files.select_related("input", "job").first() or refuse_unknown(wire_id)


def _behind(last: File, *, ascending: bool) -> Q:
    # The first condition is what the index knows; the second one decides among files of one moment.
    if ascending:
        return Q(created_at__gte=last.created_at) & (Q(created_at__gt=last.created_at) | Q(pk__gt=last.pk))
    return Q(created_at__lte=last.created_at) & (Q(created_at__lt=last.created_at) | Q(pk__lt=last.pk))
