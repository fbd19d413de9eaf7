"""Approval: the step from a quote to paid work. It holds the quote, so a job never costs more than was approved."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.services import audit
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict
from anex.core.money import cents_to_nano
from billing.services import holds, key_ceilings
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.selectors import jobs
from jobs.services.doorbell import ring
from jobs.services.endings import is_lapsed, lapse
from jobs.services.transitions import advance


def approve(*, organization_id: UUID, job_id: UUID, actor: Actor, payer: Actor | None = None) -> Job:
    """Hold the job's quote and let its rows run (reference 001, POST /jobs/{id}/approve).

    `payer` is whose ceilings it counts against, the actor's unless named; a person has none. Locks job, then account,
    then key counter. Conflict unless the job waits at `cost_ready` inside its approval window: a lapsed one is
    cancelled on the way. PaymentRequired leaves the job waiting, so that it can be approved after a top-up; so does
    InsufficientQuota, when a key would go past a ceiling of its own.
    """
    now = clock.now()
    with transaction.atomic():
        job = jobs.locked(organization_id, job_id)
        if job.status != Status.COST_READY:
            raise Conflict(f"This job is not awaiting approval: it is {job.status}.")
        lapsed = is_lapsed(job, now)
        if lapsed:
            lapse(job, now=now)
        else:
            _start(job, actor=actor, payer=payer or actor, now=now)
    if lapsed:
        raise Conflict("This job's estimate has lapsed: it waited more than 24 hours for approval. Submit it again.")
    return job


def _start(job: Job, *, actor: Actor, payer: Actor, now: datetime) -> None:
    if job.quote_cents is None:
        raise RuntimeError(f"job {job.id} is cost_ready without a quote")
    source, amount_nano = f"job:{job.id}", cents_to_nano(job.quote_cents)
    holds.place(organization_id=job.organization_id, source=source, amount_nano=amount_nano, actor=actor)
    if payer.kind == "key":
        key_ceilings.charge(source=source, key_id=payer.id, amount_nano=amount_nano, at=now)
    advance(job.id, to=Status.IN_PROGRESS, actor=actor, approved_at=now)
    audit.record(organization_id=job.organization_id, actor=actor, action="job.approved", target=str(job.id))
    job.status, job.approved_at = Status.IN_PROGRESS, now
    ring()
