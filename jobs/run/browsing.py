"""The rows of a job page by page and one by one, from its parts: while it runs as well as afterwards, in input order.

A page is found by looking through chunks, a few parts at a time: of what was read only the lines that are shown are
kept. A page ends early where it looked through a lot and found little; it says where to go on.
"""

import heapq
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from operator import itemgetter
from typing import Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet

from anex.core import clock, threads
from anex.core.errors import Gone, NotFound
from jobs import storage
from jobs.models import Chunk, Job, Part
from jobs.run import parts, shown
from jobs.run.lines import read_lines
from jobs.run.scope import MAX_ROWS
from jobs.run.shown import Row, Text
from jobs.selectors import jobs
from jobs.services import residency
from jobs.services.results import DELETED
from jobs.storage.interface import ObjectChanged, ObjectMissing, Store

PAGE_ROWS: Final = 100
MOST_ROWS: Final = MAX_ROWS
CHUNKS_AT_ONCE: Final = 16
# What one page looks through at most.
OBJECTS_AT_ONCE: Final = 256
BYTES_AT_ONCE: Final = 16 * 1024 * 1024
_READERS: Final = 8
_IN_ERROR: Final = Q(error_rows__gt=0) | Q(format_error_rows__gt=0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows: those behind the first `after` ones, without a good answer, whose custom_id begins so."""

    after: int = 0
    failed: bool = False
    custom_id: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Up to PAGE_ROWS rows; the next page begins at `end`, None where every row was looked through."""

    rows: list[Row]
    end: int | None


@dataclass(frozen=True, slots=True)
class Whole:
    """One row with what it asked and all that came back; None where the input is gone or the row has no outcome yet."""

    number: int
    row: Row | None
    answer: Text
    asked: Text | None
    result: Text | None


def open_job(organization_id: UUID, job_id: UUID) -> Job:
    """A job whose rows may be read here. Raises NotFound, Misdirected, Gone once its data was deleted."""
    job = jobs.get(organization_id, job_id)
    residency.require_here(job.region)
    lapsed = job.data_expires_at is not None and job.data_expires_at <= clock.now()
    if lapsed or job.data_deleted_at is not None or job.deletion_asked_at is not None:
        raise Gone(DELETED)
    return job


def page(job: Job, wanted: Wanted) -> Page:
    """The next finished rows of an opened job. Raises Gone, StoreUnavailable."""
    rows, budget, place = list[Row](), _Budget(OBJECTS_AT_ONCE, BYTES_AT_ONCE), wanted.after
    if wanted.failed and job.finished_at and not (job.error_rows or job.format_error_rows):
        return Page([], None)
    with threads.readers(_READERS, "browse") as readers:
        reader = _Reader(storage.store(job.region), readers, budget)
        while chunks := _chunks(job, place, failed=wanted.failed):
            for chunk in chunks:
                found = reader.lines(chunk, wanted)
                for number, line in heapq.nsmallest(PAGE_ROWS - len(rows), found, key=itemgetter(0)):
                    rows.append(shown.row(number, line))
                place = chunk.first_row + chunk.row_count
                if len(rows) == PAGE_ROWS:
                    return Page(rows, _next(job, rows[-1].number + 1))
                if budget.is_spent:
                    return Page(rows, _next(job, place))
    return Page(rows, None)


def row(job: Job, number: int) -> Whole:
    """One row of an opened job. Raises NotFound for a row it does not have, Gone, StoreUnavailable."""
    chunk = _rows(job).filter(first_row__lte=number, first_row__gt=number - F("row_count")).first()
    if chunk is None:
        raise NotFound("This job has no such row.")
    with threads.readers(_READERS, "browse") as readers:
        reader = _Reader(storage.store(job.region), readers, _Budget(OBJECTS_AT_ONCE, BYTES_AT_ONCE))
        found = (line for place, line in reader.lines(chunk, Wanted(after=number)) if place == number)
        line = next(found, None)
    asked = _asked(job, chunk, number - chunk.first_row)
    if line is None:
        return Whole(number, None, Text(""), asked, None)
    answer = shown.cut(shown.answer(line))
    return Whole(number, shown.row(number, line, characters=shown.WHOLE_CHARACTERS), answer, asked, shown.pretty(line))


@dataclass(slots=True)
class _Budget:
    objects: int
    bytes: int

    @property
    def is_spent(self) -> bool:
        return self.objects <= 0 or self.bytes <= 0


@dataclass(frozen=True, slots=True)
class _Reader:
    store: Store
    readers: Executor
    budget: _Budget

    def lines(self, chunk: Chunk, wanted: Wanted) -> Iterator[tuple[int, bytes]]:
        """The rows of a chunk that are wanted, in no order, with their result lines."""
        for body in self._bodies([part.key for part in chunk.parts.all()]):
            for place, line in parts.merge([body]):
                number = chunk.first_row + place
                if number >= wanted.after and _is_wanted(line, wanted):
                    yield number, line

    def _bodies(self, keys: Sequence[str]) -> Iterator[bytes]:
        """Objects, as many at a time as are read at once."""
        for first in range(0, len(keys), _READERS):
            try:
                bodies = list(self.readers.map(self.store.read, keys[first : first + _READERS]))
            except ObjectMissing as error:
                raise Gone(DELETED) from error
            self.budget.objects -= len(bodies)
            self.budget.bytes -= sum(map(len, bodies))
            yield from bodies


def _is_wanted(line: bytes, wanted: Wanted) -> bool:
    if wanted.custom_id and not shown.is_about(line, custom_id=wanted.custom_id):
        return False
    return not wanted.failed or parts.is_in_error(line)


def _rows(job: Job) -> QuerySet[Chunk]:
    return Chunk.objects.filter(job=job, kind=Chunk.Kind.ROWS).order_by("index")


def _chunks(job: Job, after: int, *, failed: bool) -> list[Chunk]:
    """The next chunks that have a part to read."""
    read = Part.objects.filter(_IN_ERROR) if failed else Part.objects.all()
    chunks = _rows(job).filter(Exists(read.filter(chunk=OuterRef("pk"))), first_row__gt=after - F("row_count"))
    return list(chunks.prefetch_related(Prefetch("parts", read.only("key", "chunk_id")))[:CHUNKS_AT_ONCE])


def _next(job: Job, place: int) -> int | None:
    return place if place < (job.row_count or 0) else None


def _asked(job: Job, chunk: Chunk, place: int) -> Text | None:
    """What a row of a chunk asked, as the job read it; None where the input is gone."""
    key, etag = (job.rows_key, job.rows_etag) if job.rows_key else (job.input.key, job.input.etag)
    try:
        blob = storage.store(job.region).read_range(key, chunk.byte_start, chunk.byte_end, etag=etag)
    except (ObjectChanged, ObjectMissing):
        return None
    line = next((line.text for at, line in enumerate(read_lines(blob)) if at == place), None)
    return None if line is None else shown.pretty(line)
