"""Retries: the rows of a job that is over without a good answer, as a new job with its own quote and approval.

A row is retried that was never answered, ended in an error or broke its format; one that was cut off at the cap has its
answer. The new job names the input of the old one until a worker has copied these rows into a file of their own.
"""

from uuid import UUID

from accounts.selectors import plans
from accounts.services import idempotency
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, Gone
from billing import price_cards
from billing.selectors import balances
from jobs.lifecycle import TERMINAL
from jobs.models import Job
from jobs.selectors import contents, jobs
from jobs.services import inputs, residency, submissions
from jobs.services.submissions import SubmitOptions
from jobs.storage.interface import ObjectMissing
from jobs.urgency import USUAL_WINDOW, Urgency

DELETED = "The data of this job has been deleted, so its rows cannot be sent again. Submit the file anew."


def retry(
    *,
    organization_id: UUID,
    job_id: UUID,
    actor: Actor,
    attempt: idempotency.Attempt | None = None,
    window: str | None = None,
    priority: int | None = None,
) -> Job:
    """A new job, in `submitted`, with the model and options of the old one and today's prices.

    Its window and priority may be others; a window that is not sold any more gives way to the usual one.
    The model's minimum job price is not asked for again once a job was charged for these rows' file. Raises Conflict
    (idempotency; the job is not over; it has no such row), Misdirected, Gone (input or data deleted), and what a
    submit raises for model, plan, balance and queue.
    """
    if attempt and (earlier := idempotency.find(attempt)):
        return jobs.get(organization_id, UUID(earlier))
    original = jobs.get(organization_id, job_id)
    _refuse_unless_possible(original)
    model = submissions.offered(original.model_id, organization_id=organization_id)
    try:
        row = contents.row_options(original)
    except ObjectMissing as error:
        raise Gone(DELETED) from error
    urgency = _urgency(original, window, priority)
    submissions.check(model, SubmitOptions(model_id=model.id, row=row, urgency=urgency))
    plans.of(organization_id).require_output(row.max_output_tokens)
    balances.require_positive(organization_id)
    job = submissions.draft(original.input, model, row, actor, urgency)
    job.retry_of = original
    job.minimum_paid = original.minimum_paid or bool(original.charge_cents)
    return submissions.create(job, stored=submissions.schema_of(job, row), actor=actor, attempt=attempt)


def _urgency(original: Job, window: str | None, priority: int | None) -> Urgency:
    if window is None:
        is_sold = price_cards.within(original.model_id, original.completion_window) is not None
        window = original.completion_window if is_sold else USUAL_WINDOW
    return Urgency(window, original.priority if priority is None else priority)


def _refuse_unless_possible(original: Job) -> None:
    residency.require_here(original.region)
    if original.status not in TERMINAL:
        raise Conflict(f"This job is not over yet: it is {original.status}. Retry its rows once it has ended.")
    if not jobs.retryable_rows(original):
        raise Conflict("This job has no row to retry: every row has its answer, or its file was never taken.")
    inputs.settle(original.input)
    lapsed = original.data_expires_at is not None and original.data_expires_at <= clock.now()
    if lapsed or original.deletion_asked_at is not None or not jobs.is_readable(original):
        raise Gone(DELETED)
