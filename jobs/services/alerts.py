"""Which steps of a job are told by e-mail. Called where the step is written, in its transaction."""

from typing import Any

from accounts.alert_kinds import Kind
from accounts.services import alerts
from anex.core.actors import Actor
from anex.core.money import cents_to_nano, format_dollars
from jobs.lifecycle import Status
from jobs.models import Job, JobEvent
from jobs.selectors import batches

_KINDS = {
    Status.COST_READY: Kind.JOB_AWAITING_APPROVAL,
    Status.DONE: Kind.JOB_DONE,
    Status.FAILED: Kind.JOB_FAILED,
}
_DECIDED = (Status.IN_PROGRESS, Status.CANCELLED)


def follow(event: JobEvent) -> None:
    """Raise the alert of the step, if it has one; a job that was decided about asks for no approval any more."""
    status = Status(event.type)
    if status not in (*_KINDS, *_DECIDED):
        return
    job = Job.objects.get(pk=event.job_id)
    about: dict[str, Any] = {"organization_id": job.organization_id, "subject": str(job.pk)}
    if status in _DECIDED:
        alerts.withdraw(kind=Kind.JOB_AWAITING_APPROVAL, **about)
        return
    alerts.raise_once(
        kind=_KINDS[status], crossing=str(event.pk), facts=_facts(job), person_id=_submitter(job.created_by), **about
    )


def _facts(job: Job) -> dict[str, Any]:
    """Numbers and codes; what a customer wrote stays in the store."""
    until = job.approval_expires_at if job.status == Status.COST_READY else job.data_expires_at
    return {
        "model": job.model_id,
        "rows": job.row_count,
        "quote": format_dollars(cents_to_nano(job.quote_cents or 0)),
        "charge": format_dollars(cents_to_nano(job.charge_cents or 0)),
        "answered": job.success_rows,
        "errors": job.error_rows,
        "code": job.failure_code,
        "batch": batches.is_batch(job.pk),
        "until": until and f"{until:%Y-%m-%d %H:%M}",
    }


def _submitter(created_by: str) -> int | None:
    """The person who submitted; None where a key or the platform did."""
    actor = Actor.parse(created_by)
    return int(actor.id) if actor.kind == "user" else None
