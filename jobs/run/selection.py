"""The input of a retry: the failed rows of another job, copied as they are into a file of their own, in their order.

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
from jobs.run.problems import Problem
from jobs.selectors import jobs
from jobs.services.inputs import RETENTION
from jobs.storage import keys
from jobs.storage.interface import ObjectChanged, ObjectMissing, Store, Stored

ROWS_GONE = Problem("input_gone", 0, "The rows to retry were deleted with the data of their job.")


def give_own_input(claim: Claim, *, go_on: Callable[[], bool]) -> bool:
    """See to it that a job to be checked has its own input; False when that ended the job or the chunk is lost.

    Only a retry starts without one; repeating this after a kill anywhere is safe. Raises Interrupted.
    """
    job = Job.objects.select_related("input", "retry_of").get(pk=claim.job_id)
    if job.retry_of is None or not jobs.borrows_input(job):
        return True
    store = storage.store(job.region)
    try:
        with store.writer(keys.retried_rows(job.pk)) as writer:
            for chunk in _chunks_to_read(job.retry_of):
                if not go_on():
                    raise Interrupted
                for line in _lines_to_retry(store, job.input, chunk):
                    writer.write(line)
    except (ObjectChanged, ObjectMissing):
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


def _lines_to_retry(store: Store, source: Input, chunk: Chunk) -> Iterator[bytes]:
    wanted = {row for row, bit in enumerate(chunk.done) if bit == "0"}
    with_errors = Part.objects.filter(Q(error_rows__gt=0) | Q(format_error_rows__gt=0), chunk=chunk)
    for key in with_errors.values_list("key", flat=True):
        wanted.update(parts.rows_in_error(store.read(key)))
    blob = store.read_range(source.key, chunk.byte_start, chunk.byte_end, etag=source.etag)
    for row, line in enumerate(read_lines(blob)):
        if row in wanted:
            yield blob[line.start : line.end].removesuffix(b"\n") + b"\n"


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
