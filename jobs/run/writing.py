"""Writes what a job delivers: a native job's one file of every finished row, or a batch's two, in input order.

One chunk of rows is in memory. A file without a line is no file.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import UUID

from jobs.models import Chunk, Job, Part
from jobs.run import batch_lines, parts
from jobs.run.batch_lines import BatchLine
from jobs.run.claims import Interrupted
from jobs.run.lines import custom_id_of, read_lines
from jobs.run.parquet import process
from jobs.run.parquet.parent import Lost
from jobs.run.parquet.process import Unreadable
from jobs.services.inputs import JSONL, PARQUET
from jobs.storage import keys
from jobs.storage.interface import ObjectChanged, ObjectMissing, Store, Stored

log = logging.getLogger(__name__)

GoOn = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Written:
    """The file of results and its rows; of a batch, those that succeeded, and beside it what failed or was not run."""

    result: Stored | None = None
    rows: int = 0
    errors: Stored | None = None

    @property
    def keys(self) -> list[str]:
        """The objects that were written."""
        return [stored.key for stored in (self.result, self.errors) if stored]


def write_result(store: Store, job: Job, go_on: GoOn, *, last_try: bool) -> Written:
    """A native job's merged file.

    Where a parquet input cannot be read any more, the rows are delivered without its columns; where its reader was
    killed, only at the last try. Before that, raises Lost.
    """
    if job.input.format == PARQUET:
        try:
            return _write(store, job, PARQUET, go_on)
        except (ObjectChanged, ObjectMissing, Unreadable, Lost) as error:
            if isinstance(error, Lost) and not last_try:
                raise
            log.warning("the result of job %s is JSON Lines, not parquet: %s", job.pk, type(error).__name__)
    return _write(store, job, JSONL, go_on)


def write_batch(store: Store, job: Job, go_on: GoOn) -> Written:
    """A batch's output and error file: every custom_id of its input is in one of them, once."""
    with ExitStack() as files:
        writers = [files.enter_context(store.writer(keys.result(job.pk))) for _ in range(2)]
        rows = [0, 0]
        for chunk in _chunks(job.pk, go_on):
            lines = list(_batch_lines(store, job, chunk))
            for failed, writer in enumerate(writers):
                texts = [line.text for line in lines if line.failed == failed]
                writer.write(b"".join(texts))
                rows[failed] += len(texts)
    output, errors = (_kept(store, writer.stored, count) for writer, count in zip(writers, rows, strict=True))
    return Written(output, rows[0], errors)


def _write(store: Store, job: Job, format: str, go_on: GoOn) -> Written:
    with store.writer(keys.result(job.pk, format)) as writer:
        if format == PARQUET:
            with process.downloaded(store, job.input, go_on=go_on) as file:
                merged = _merged(store, job.pk, go_on)
                rows = process.join(file, merged, task=job.task_type, write=writer.write, go_on=go_on)
        else:
            rows = 0
            for chunk in _chunks(job.pk, go_on):
                lines = [line for _, line in _finished(store, chunk)]
                writer.write(b"".join(lines))
                rows += len(lines)
    return Written(_kept(store, writer.stored, rows), rows)


def _kept(store: Store, stored: Stored, rows: int) -> Stored | None:
    if rows:
        return stored
    store.delete([stored.key])
    return None


def _chunks(job_id: UUID, go_on: GoOn) -> Iterator[Chunk]:
    chunks = Chunk.objects.filter(job_id=job_id, kind=Chunk.Kind.ROWS).order_by("index")
    for chunk in chunks.only("first_row", "row_count", "byte_start", "byte_end"):
        if not go_on():
            raise Interrupted
        yield chunk


def _finished(store: Store, chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """The finished rows of a chunk, by their place in it, and their result lines."""
    objects = Part.objects.filter(chunk=chunk).order_by("pk").values_list("key", flat=True)
    return parts.merge(store.read(key) for key in objects)


def _merged(store: Store, job_id: UUID, go_on: GoOn) -> Iterator[tuple[int, bytes]]:
    for chunk in _chunks(job_id, go_on):
        for row, line in _finished(store, chunk):
            yield chunk.first_row + row, line


def _batch_lines(store: Store, job: Job, chunk: Chunk) -> Iterator[BatchLine]:
    finished = dict(_finished(store, chunk))
    ids = _custom_ids(store, job, chunk) if len(finished) < chunk.row_count else []
    for row in range(chunk.row_count):
        place = chunk.first_row + row
        if row in finished:
            yield batch_lines.finished(job.pk, place, finished[row])
        elif row < len(ids):
            yield batch_lines.not_run(job.pk, place, ids[row], stop_reason=job.stop_reason)


def _custom_ids(store: Store, job: Job, chunk: Chunk) -> list[str]:
    """The ids of a chunk's rows; none where the input is gone, which is why the batch failed then."""
    try:
        blob = store.read_range(job.input.key, chunk.byte_start, chunk.byte_end, etag=job.input.etag)
    except (ObjectChanged, ObjectMissing) as error:
        log.warning("rows of job %s that were not run cannot be named: %s", job.pk, type(error).__name__)
        return []
    return [custom_id_of(line.text) for line in read_lines(blob)]
