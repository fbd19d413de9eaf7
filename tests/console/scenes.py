"""Jobs at every stage of their life, as rows of the database; nothing runs them."""

from datetime import timedelta

from accounts.models import Organization
from anex.core import clock, sealing
from billing import price_cards
from jobs.models import Chunk, Job, JobEvent, Part, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent
from jobs.services.endpoints import PURPOSE
from tests.factories import make_job

MODEL = "smollm2-135m-instruct"
QUOTED = {
    "row_count": 1200,
    "est_input_tokens": 31_204,
    "est_output_tokens": 19_500,
    "max_output_tokens": 256,
    "quote_cents": 412,
}
COUNTED = {"success_rows": 1180, "error_rows": 8, "format_error_rows": 0, "truncated_rows": 12}
DELIVERED = {"charge_cents": 297, "result_rows": 1200, "result_bytes": 18_734, "partial": False}


def job_with_steps(organization: Organization, *steps: str, **fields) -> Job:
    """A job in its last step, with an event for each."""
    job = make_job(organization, model_id=MODEL, status=steps[-1], **fields)
    for step in steps:
        JobEvent.objects.create(job=job, type=step, actor=job.created_by)
    return job


def quoted(organization: Organization, **fields) -> Job:
    card = price_cards.current(MODEL)
    expires = clock.now() + timedelta(hours=5, minutes=30)
    defaults = QUOTED | {"prices": card.frozen(), "approval_expires_at": expires}
    return job_with_steps(organization, "submitted", "estimating", "cost_ready", **(defaults | fields))


def running(organization: Organization, *, answered: int = 300) -> Job:
    steps = ("submitted", "estimating", "cost_ready", "in_progress")
    job = job_with_steps(organization, *steps, **QUOTED, approved_at=clock.now())
    chunk = Chunk.objects.create(job=job, kind=Chunk.Kind.ROWS, index=0, row_count=1200)
    Part.objects.create(
        chunk=chunk,
        key="tests/part",
        size_bytes=1,
        success_rows=answered,
        error_rows=0,
        format_error_rows=0,
        truncated_rows=0,
        input_tokens=1,
        cached_tokens=0,
        output_tokens=1,
        cost_nano=1_230_000_000,
    )
    return job


def done(organization: Organization, **fields) -> Job:
    steps = ("submitted", "estimating", "cost_ready", "in_progress", "finalizing", "done")
    now = clock.now()
    ended = {"approved_at": now, "finished_at": now, "data_expires_at": now + timedelta(days=30)}
    return job_with_steps(organization, *steps, **(QUOTED | COUNTED | DELIVERED | ended | fields))


def failed(organization: Organization) -> Job:
    ended = {"failure_code": "invalid_input", "failure_line": 3, "finished_at": clock.now()}
    return job_with_steps(organization, "submitted", "estimating", "failed", **ended)


def endpoint(organization: Organization, url: str = "https://hooks.example.com/anex", **fields) -> WebhookEndpoint:
    """An endpoint that nothing has looked up."""
    secret = sealing.seal("whsec_" + "A" * 43 + "=", purpose=PURPOSE)
    return WebhookEndpoint.objects.create(
        organization=organization, url=url, sealed_secret=secret, **({"created_by": "user:1"} | fields)
    )


def delivery(endpoint: WebhookEndpoint, *, type: str = "completed", statuses=(500, 200), **fields) -> WebhookDelivery:
    """A delivery with an attempt per status."""
    job = fields.pop("job", None)
    event = WebhookEvent.objects.create(organization=endpoint.organization, region="world", type=type, job=job)
    defaults = {"state": "delivered", "attempts": len(statuses), "tries_left": 7, "next_attempt_at": clock.now()}
    made = WebhookDelivery.objects.create(event=event, endpoint=endpoint, **(defaults | fields))
    for number, status in enumerate(statuses, start=1):
        WebhookAttempt.objects.create(delivery=made, number=number, at=clock.now(), duration_ms=87, status=status)
    return made
