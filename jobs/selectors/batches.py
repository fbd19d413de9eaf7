"""Reads of OpenAI batches, each within one organization. A batch is a view of one job, whose id it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NoReturn
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Sum

from anex.core.errors import InvalidRequest, NotFound
from anex.core.usage import Usage
from jobs.lifecycle import Status
from jobs.models import Batch, Chunk, File, Job, JobEvent, Part

PREFIX: Final = "batch_"


@dataclass(frozen=True, slots=True)
class Finished:
    """Requests that succeeded and failed so far, and what they used: None before the first ones finish.

    `reasoning_tokens` is the thinking within the output; None where a server thought and did not tell how much.
    """

    completed: int = 0
    failed: int = 0
    usage: Usage | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A batch's job and what is beside it: its finished requests, when it began to stop or to finalize, and the files
    it delivered, by their part."""

    job: Job
    finished: Finished
    steps: Mapping[Status, datetime]
    files: Mapping[str, File]


@dataclass(frozen=True, slots=True)
class Page:
    """Up to the asked number of batches, and whether more follow."""

    batches: list[View]
    has_more: bool


def is_batch(job_id: UUID) -> bool:
    """Whether a job was made as a batch."""
    return Batch.objects.filter(pk=job_id).exists()


def error_file(job: Job) -> File | None:
    """What a batch delivered of requests that failed or were not run; None of any other job."""
    return File.objects.filter(job=job, part=File.Part.ERROR).first()


def wire_id(job: Job) -> str:
    """The id of a batch as clients know it."""
    return f"{PREFIX}{job.pk.hex}"


def job_id(wire_id: str) -> UUID:
    """The job of a batch's id; NotFound for what is no such id."""
    try:
        found = UUID(hex=wire_id.removeprefix(PREFIX))
    except ValueError:
        refuse_unknown(wire_id)
    return found if wire_id == f"{PREFIX}{found.hex}" else refuse_unknown(wire_id)


def get(organization_id: UUID, wire_id: str) -> View:
    """A batch as it is now; NotFound for an unknown or foreign id."""
    job = _of(organization_id).filter(pk=job_id(wire_id)).first() or refuse_unknown(wire_id)
    return _views([job])[0]


def page(organization_id: UUID, *, after: str | None, limit: int) -> Page:
    """The next batches behind `after`, newest first. InvalidRequest for an unknown `after`."""
    jobs = _of(organization_id)
    if after is not None:
        jobs = jobs.filter(_behind(_last(organization_id, after)))
    found = list(jobs.order_by("-created_at", "-pk")[: limit + 1])
    return Page(_views(found[:limit]), len(found) > limit)


def refuse_unknown(wire_id: str) -> NoReturn:
    """The one answer to an id that names nothing here: malformed, unknown and foreign ids look alike."""
    raise NotFound(f"No batch '{wire_id[:64]}' in this organization.")


def _of(organization_id: UUID) -> QuerySet[Job]:
    jobs = Job.objects.filter(organization_id=organization_id, batch__isnull=False)
    return jobs.select_related("batch", "input__file")


def _last(organization_id: UUID, after: str) -> Job:
    try:
        return _of(organization_id).filter(pk=job_id(after)).first() or refuse_unknown(after)
    except NotFound as error:
        raise InvalidRequest(f"after: {error.message}", param="after") from None


def _behind(last: Job) -> Q:
    # The first condition is what the index knows; the second one decides among jobs of one moment.
    return Q(created_at__lte=last.created_at) & (Q(created_at__lt=last.created_at) | Q(pk__lt=last.pk))


def _views(jobs: Sequence[Job]) -> list[View]:
    """Batches with what is beside them, in three queries however many there are."""
    finished, steps, files = _finished(jobs), _steps(jobs), _files(jobs)
    return [View(job, finished.get(job.pk, Finished()), steps.get(job.pk, {}), files.get(job.pk, {})) for job in jobs]


def _finished(jobs: Sequence[Job]) -> dict[UUID, Finished]:
    """What became of the requests that finished, of the batches that have any."""
    parts = Part.objects.filter(chunk__job__in=jobs, chunk__kind=Chunk.Kind.ROWS)
    sums = parts.values_list("chunk__job").annotate(
        completed=Sum(F("success_rows") + F("truncated_rows")),
        failed=Sum(F("error_rows") + F("format_error_rows")),
        input=Sum("input_tokens"),
        cached=Sum("cached_tokens"),
        output=Sum("output_tokens"),
        thought=Sum("reasoning_tokens"),
        untold=Count("pk", filter=Q(reasoning_tokens=None)),
    )
    return {
        job_id: Finished(completed, failed, Usage(*used), None if untold else thought)
        for job_id, completed, failed, *used, thought, untold in sums
    }


def _steps(jobs: Sequence[Job]) -> dict[UUID, dict[Status, datetime]]:
    steps: dict[UUID, dict[Status, datetime]] = {}
    told = JobEvent.objects.filter(job__in=jobs, type__in=(Status.CANCELLING, Status.FINALIZING))
    for job_id, step, at in told.values_list("job", "type", "at"):
        steps.setdefault(job_id, {})[Status(step)] = at
    return steps


def _files(jobs: Sequence[Job]) -> dict[UUID, dict[str, File]]:
    files: dict[UUID, dict[str, File]] = {}
    for file in File.objects.filter(job__in=jobs):
        if file.job_id is not None:
            files.setdefault(file.job_id, {})[file.part] = file
    return files
