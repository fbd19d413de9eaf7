"""The one place that assigns a job's status: a guarded conditional write, its event and its webhooks, together."""

from typing import Any
from uuid import UUID

from django.db import transaction

from anex.core.actors import Actor
from jobs.lifecycle import Status, sources_of
from jobs.models import Job, JobEvent
from jobs.services import outbox


@transaction.atomic
def advance(job_id: UUID, *, to: Status, actor: Actor, **fields: Any) -> bool:
    """Move a job to `to` and set `fields` with it, if its present status may be followed by `to`; a pause ends.

    Returns False, and writes nothing, when another writer was first.
    """
    moved = Job.objects.filter(pk=job_id, status__in=sources_of(to)).update(status=to, paused=False, **fields)
    if moved:
        record(job_id, to, actor=str(actor))
    return bool(moved)


def record(job_id: UUID, step: Status, *, actor: str) -> None:
    """Write down a step that the caller's transaction makes, and leave it for the endpoints that want it."""
    JobEvent.objects.create(job_id=job_id, type=step, actor=actor)
    outbox.record_step(job_id, step)
