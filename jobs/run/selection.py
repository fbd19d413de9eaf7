"""The input of a retry: the failed rows of another job, copied as they are into a file of their own, in their order.

A parquet file's rows are copied with all their columns, so the retry is a parquet job like any other.

What a row came to is read from the other job's chunks and parts, so only chunks with such a row are looked at, one at
a time.
"""

from collections.abc import Callable, Iterator

from django.db import transaction
from django.db.models import BigIntegerField, F, Func, Q, QuerySet, Sum

from anex.core import clock
from jobs import storage
from jobs.models import Chunk, Input, Job, Part
from jobs.run import claims, parts
from jobs.run.claims import Claim, Interrupted
from jobs.run.failures import fail_before_approval
from jobs.run.lines import read_lines
from jobs.run.parquet import process
from jobs.run.parquet.process import Unreadable
from jobs.run.problems import Problem
from jobs.selectors import jobs
from jobs.services.inputs import PARQUET, RETENTION
from jobs.storage import keys
from jobs.storage.interface import ObjectChanged, ObjectMissing, Store, Stored, Writer

Found = Iterator[tuple[Chunk, set[int]]]
ROWS_GONE = Problem("input_gone", 0, "The rows to retry were deleted with the data of their job.")


def give_own_input(claim: Claim, *, go_on: Callable[[], bool]) -> bool:
    """See to it that a job to be checked has its own input; False when that ended the job or the chunk is lost.

    Only a retry starts without one; repeating this after a kill anywhere is safe. Raises Interrupted.
    """
    job = Job.objects.select_related("input", "retry_of").get(pk=claim.job_id)
    if job.retry_of is None or not jobs.borrows_input(job):
        return True
    store = storage.store(job.region)
    copy = _copy_rows if job.input.format == PARQUET else _copy_lines
    try:
        with store.writer(keys.retried_rows(job.pk, job.input.format)) as writer:
            copy(store, job, _wanted(store, job.retry_of, go_on), writer, go_on)
    except (ObjectChanged, ObjectMissing, Unreadable):
        fail_before_approval(claim, store, [ROWS_GONE])
        return False
    if not _adopt(claim, job, writer.stored):
        store.delete([writer.stored.key])
        return False
    return True


def _chunks_to_read(original: Job) -> QuerySet[Chunk]:
    answered = Func("done", function="bit_count", output_field=BigIntegerField())
    in_error = Sum(F("parts__error_rows") + F("parts__format_error_rows"), default=0)
    rows = Chunk.objects.filter(job=original, kind=Chunk.Kind.ROWS).annotate(answered=answered, in_error=in_error)
    return rows.filter(Q(in_error__gt=0) | Q(answered__lt=F("row_count"))).order_by("index")


def _wanted(store: Store, original: Job, go_on: Callable[[], bool]) -> Iterator[tuple[Chunk, set[int]]]:
    """Chunks with rows to retry, and which of their rows those are."""
    for chunk in _chunks_to_read(original):
        if not go_on():
            raise Interrupted
        wanted = {row for row, bit in enumerate(chunk.done) if bit == "0"}
        with_errors = Part.objects.filter(Q(error_rows__gt=0) | Q(format_error_rows__gt=0), chunk=chunk)
        for key in with_errors.values_list("key", flat=True):
            wanted.update(parts.rows_in_error(store.read(key)))
        yield chunk, wanted


def _copy_lines(store: Store, job: Job, found: Found, writer: Writer, go_on: Callable[[], bool]) -> None:
    for chunk, wanted in found:
        blob = store.read_range(job.input.key, chunk.byte_start, chunk.byte_end, etag=job.input.etag)
        for row, line in enumerate(read_lines(blob)):
            if row in wanted:
                writer.write(blob[line.start : line.end].removesuffix(b"\n") + b"\n")


def _copy_rows(store: Store, job: Job, found: Found, writer: Writer, go_on: Callable[[], bool]) -> None:
    rows = ((chunk.first_row + row, b"\n") for chunk, wanted in found for row in sorted(wanted))
    with process.downloaded(store, job.input, go_on=go_on) as file:
        process.join(file, rows, task=None, write=writer.write, go_on=go_on)


def _adopt(claim: Claim, job: Job, stored: Stored) -> bool:
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job.pk)
        if not claims.is_held(claim):
            return False
        source = Input.objects.create(
            organization_id=job.organization_id,
            region=job.region,
            status=Input.State.READY,
            format=job.input.format,
            key=stored.key,
            etag=stored.etag,
            size_bytes=stored.size,
            created_by=job.created_by,
            expires_at=clock.now() + RETENTION,
        )
        return bool(Job.objects.filter(pk=job.pk).update(input=source))
