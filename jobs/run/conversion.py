"""The rows of a parquet job as JSON Lines, one line per row: what its check, its estimate and its chunks read.

They are an object of the job that goes with the file it was made from. The file itself is read once more at the end,
for the columns that the result echoes.
"""

from collections.abc import Callable

from django.db import transaction

from inference.requests.rows import PATHS
from jobs import storage
from jobs.models import Job
from jobs.run import claims
from jobs.run.claims import Claim
from jobs.run.failures import fail_before_approval
from jobs.run.parquet import process
from jobs.run.problems import Problem
from jobs.services.inputs import PARQUET
from jobs.storage import keys
from jobs.storage.interface import ObjectChanged, ObjectMissing, Stored

GONE = Problem("input_gone", 0, "The input file was replaced or deleted after it was uploaded.")


def give_rows(claim: Claim, *, go_on: Callable[[], bool]) -> bool:
    """See to it that a job to be checked has rows to read; False when that ended the job or the chunk is lost.

    Only a parquet job starts without; repeating this after a kill anywhere is safe. Raises Interrupted.
    """
    job = Job.objects.select_related("input").get(pk=claim.job_id)
    if job.input.format != PARQUET or job.rows_key:
        return True
    store = storage.store(job.region)
    url, size = f"/v1{PATHS[job.task_type]}", job.input.size_bytes or 0
    try:
        with (
            process.downloaded(store, job.input, go_on=go_on) as file,
            store.writer(keys.converted_rows(job.pk)) as writer,
        ):
            process.convert(file, task=job.task_type, url=url, size=size, write=writer.write, go_on=go_on)
    except (ObjectChanged, ObjectMissing):
        fail_before_approval(claim, store, [GONE])
        return False
    except process.Unreadable as refused:
        fail_before_approval(claim, store, refused.problems)
        return False
    if not _adopt(claim, writer.stored):
        store.delete([writer.stored.key])
        return False
    return True


def _adopt(claim: Claim, rows: Stored) -> bool:
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(pk=claim.job_id)
        job.get()
        if not claims.is_held(claim):
            return False
        return bool(job.update(rows_key=rows.key, rows_etag=rows.etag, rows_bytes=rows.size))
