"""What changed of jobs since one looked: cheap enough to ask every second, whatever their size."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Max

from jobs.models import Chunk, Job, Part

# Whatever of a job's row a page shows and a person or a program moves.
_SHOWN = ("status", "paused", "deletion_asked_at", "data_deleted_at", "max_output_tokens")

Marks = dict[UUID, tuple[object, ...]]


def marks(job_ids: Collection[UUID]) -> Marks:
    """A mark per job that differs once its row moved on; none of a job that is not there."""
    return {job_id: tuple(mark) for job_id, *mark in Job.objects.filter(pk__in=job_ids).values_list("pk", *_SHOWN)}


def newest_part() -> int:
    """The last part of any job, 0 before the first; where `parts_after` begins."""
    return Part.objects.aggregate(newest=Max("pk"))["newest"] or 0


def parts_after(part_id: int) -> dict[UUID, int]:
    """The jobs of whom rows became durable behind a part, and the last part of each.

    Read by id, so that it costs what is new. A part whose transaction ended after that of a later one is left out; the
    next one of its job makes up for it.
    """
    last = dict(Part.objects.filter(pk__gt=part_id).values_list("chunk_id").annotate(last=Max("pk")))
    found: dict[UUID, int] = {}
    for chunk_id, job_id in Chunk.objects.filter(pk__in=last).values_list("pk", "job_id") if last else ():
        found[job_id] = max(found.get(job_id, 0), last[chunk_id])
    return found


def own(organization_id: UUID, job_ids: Collection[UUID]) -> bool:
    """Whether every one of these is a job of the organization."""
    mine = Job.objects.filter(organization_id=organization_id, pk__in=job_ids).count()
    return mine == len(set(job_ids))
