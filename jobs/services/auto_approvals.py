"""Quotes approved without a person, by an organization's own rule. Off until somebody turns it on.

Lock order: job → rule → account. The rule's row is locked while a day is added up, so that two jobs quoted at once
do not both take what is left of it.
"""

from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Sum

from accounts.services import audit
from anex.core.actors import Actor, system
from anex.core.errors import InsufficientQuota, InvalidRequest, PaymentRequired
from anex.core.money import cents_to_nano, format_dollars
from jobs.lifecycle import Status
from jobs.models import AutoApproval, Job, JobEvent
from jobs.services import approvals

ACTOR = system("auto_approve")
MAX_CENTS = 100_000_000


@transaction.atomic
def configure(
    *, organization_id: UUID, enabled: bool, max_job_cents: int | None, max_day_cents: int | None, actor: Actor
) -> None:
    """Turn the rule on or off. A ceiling is in cents, None for none; InvalidRequest for one that makes no sense."""
    for cents, param in ((max_job_cents, "max_job"), (max_day_cents, "max_day")):
        if cents is not None and not 1 <= cents <= MAX_CENTS:
            most = format_dollars(cents_to_nano(MAX_CENTS))
            raise InvalidRequest(f"A ceiling is above zero and at most {most}; leave it empty for none.", param=param)
    AutoApproval.objects.update_or_create(
        organization_id=organization_id,
        defaults={"enabled": enabled, "max_job_cents": max_job_cents, "max_day_cents": max_day_cents},
    )
    job, day = (
        "any" if cents is None else format_dollars(cents_to_nano(cents)) for cents in (max_job_cents, max_day_cents)
    )
    audit.record(
        organization_id=organization_id,
        actor=actor,
        action="organization.auto_approve",
        reason=f"{job} a job, {day} a day" if enabled else "off",
    )


def consider(job_id: UUID, *, now: datetime) -> bool:
    """Approve a job just quoted where the rule covers it; inside the transaction of its quote, which locks the job.

    A job that is not approved waits at `cost_ready` like any other: the rule is off, a ceiling of
    it or of the submitting key is passed, the organization is suspended, or the balance does not cover the quote.
    """
    job = Job.objects.select_related("organization").get(pk=job_id)
    rule = AutoApproval.objects.select_for_update().filter(organization_id=job.organization_id, enabled=True).first()
    if rule is None or job.quote_cents is None or job.organization.suspended_at:
        return False
    if rule.max_job_cents is not None and job.quote_cents > rule.max_job_cents:
        return False
    if rule.max_day_cents is not None and job.quote_cents + _approved_today(job, now) > rule.max_day_cents:
        return False
    try:
        submitter = Actor.parse(job.created_by)
        approvals.approve(organization_id=job.organization_id, job_id=job_id, actor=ACTOR, payer=submitter)
    except (PaymentRequired, InsufficientQuota):
        return False
    return True


def _approved_today(job: Job, now: datetime) -> int:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    approved = JobEvent.objects.filter(
        job__organization_id=job.organization_id,
        job__approved_at__gte=midnight,
        type=Status.IN_PROGRESS,
        actor=str(ACTOR),
    )
    return int(approved.aggregate(sum=Sum("job__quote_cents", default=0))["sum"])
