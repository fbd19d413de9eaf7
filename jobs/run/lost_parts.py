"""Parts whose objects are gone, whoever deleted or lost them: their job ends without these rows, as failed by us.

What is left is delivered and charged. The lost rows count as never answered: they cost nothing, and a retry sends them.
"""

import logging
from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from jobs import storage
from jobs.lifecycle import Status
from jobs.models import Chunk, Job, Part
from jobs.run import parts
from jobs.run.failures import INTERNAL_ERROR, store_report
from jobs.run.problems import Problem
from jobs.storage import keys
from jobs.storage.interface import Store

log = logging.getLogger(__name__)

LOST = Problem(
    "rows_lost", 0, "Some rows were lost on our side before the result was written. Retry this job for them."
)


def give_up(job_id: UUID) -> int:
    """Forget the lost parts of a job that is being finalized; answers how many. Raises StoreUnavailable."""
    job = Job.objects.get(pk=job_id)
    store = storage.store(job.region)
    there = {stored.key for stored in store.list(keys.job_prefix(job_id))}
    of_job = Part.objects.filter(chunk__job=job, chunk__kind=Chunk.Kind.ROWS)
    lost = [part for part in of_job.only("chunk_id", "key") if part.key not in there]
    if not lost:
        return 0
    lost_keys = {part.key for part in lost}
    done = {chunk_id: _rows_left(store, chunk_id, lost_keys) for chunk_id in {part.chunk_id for part in lost}}
    if not job.stop_reason:
        store_report(store, job_id, [LOST])
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job_id)
        if locked.status not in (Status.FINALIZING, Status.CANCELLING):
            return 0
        Part.objects.filter(pk__in=[part.pk for part in lost]).delete()
        for chunk in Chunk.objects.filter(pk__in=done):
            chunk.done = "".join("01"[row in done[chunk.pk]] for row in range(chunk.row_count))
            chunk.save(update_fields=["done"])
        Job.objects.filter(pk=job_id, stop_reason="").update(stop_reason=INTERNAL_ERROR)
    log.error("%d parts of job %s are gone from the store; it ends without their rows", len(lost), job_id)
    return len(lost)


def _rows_left(store: Store, chunk_id: int, lost: Collection[str]) -> set[int]:
    left = Part.objects.filter(chunk_id=chunk_id).exclude(key__in=lost).values_list("key", flat=True)
    return {row for row, _ in parts.merge(store.read(key) for key in left)}
