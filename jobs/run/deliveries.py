"""One delivery, step by step: claim it, render it, send it outside of any transaction, write down what came of it.

A claim is a lease and a number: the outcome of attempt 3 counts only while no attempt 4 has begun. A worker that dies
between sending and writing leaves a delivery that is sent again once its lease is over, with the same `webhook-id`:
at least once, never lost. Lock order: endpoint → delivery.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from anex.core import clock, safe_http
from anex.core.actors import system
from anex.core.destinations import RefusedUrl, Unreachable
from jobs.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from jobs.services import endpoints, messages
from jobs.services.messages import Message
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable
from jobs.webhooks import PATIENCE, DeliveryState, retry_after_seconds, wait_before_next

log = logging.getLogger(__name__)

TOTAL_TIMEOUT_S = 20.0
ANSWER_BYTES = 1024
LEASE = timedelta(seconds=60)
# What waits for a slow receiver leaves room for the others.
MOST_PER_ENDPOINT = 2
MOST_PER_ORGANIZATION = 6
STORE_REST = timedelta(seconds=30)
GONE = 410

CLAIM = """
WITH busy AS (
    SELECT d.endpoint_id, e.organization_id
    FROM jobs_webhookdelivery d JOIN jobs_webhookendpoint e ON e.id = d.endpoint_id
    WHERE d.state = 'pending' AND d.leased_until > %(now)s
), due AS (
    SELECT d.id, d.next_attempt_at, e.organization_id,
           row_number() OVER (PARTITION BY d.endpoint_id ORDER BY d.next_attempt_at, d.id)
           + (SELECT count(*) FROM busy WHERE busy.endpoint_id = d.endpoint_id) AS place
    FROM jobs_webhookdelivery d JOIN jobs_webhookevent e ON e.id = d.event_id
    WHERE d.state = 'pending' AND d.next_attempt_at <= %(now)s AND e.region = %(region)s
      AND (d.leased_until IS NULL OR d.leased_until <= %(now)s)
), fair AS (
    SELECT due.id, due.next_attempt_at,
           row_number() OVER (PARTITION BY due.organization_id ORDER BY due.next_attempt_at, due.id)
           + (SELECT count(*) FROM busy WHERE busy.organization_id = due.organization_id) AS place
    FROM due WHERE due.place <= %(per_endpoint)s
), chosen AS (
    SELECT d.id
    FROM fair JOIN jobs_webhookdelivery d ON d.id = fair.id
    WHERE fair.place <= %(per_organization)s AND d.state = 'pending' AND d.next_attempt_at <= %(now)s
      AND (d.leased_until IS NULL OR d.leased_until <= %(now)s)
    ORDER BY fair.place, fair.next_attempt_at
    LIMIT %(limit)s
    FOR UPDATE OF d SKIP LOCKED
)
UPDATE jobs_webhookdelivery d
SET attempts = attempts + 1, tries_left = GREATEST(tries_left - 1, 0), leased_until = %(until)s
FROM chosen WHERE d.id = chosen.id
RETURNING d.id, d.attempts
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """Attempt `number` of a delivery, held by this worker for LEASE."""

    delivery_id: UUID
    number: int


@dataclass(frozen=True, slots=True)
class Task:
    """A claim's request, and where the start of the answer is to be kept (an empty key keeps none).

    `about` are the ids for its log lines; it goes on with the trace of its job.
    """

    claim: Claim
    message: Message
    region: str
    answer_key: str
    event: str
    about: dict[str, str]
    traceparent: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request: a status, or why there is none."""

    at: datetime
    duration_ms: int
    status: int | None = None
    error: str = ""
    retry_after_s: float = 0.0
    answer_key: str = ""

    @property
    def delivered(self) -> bool:
        """Only 2xx counts."""
        return self.status is not None and 200 <= self.status < 300


def claim(*, region: str, limit: int) -> list[Claim]:
    """Up to `limit` deliveries that are due, few per endpoint and organization."""
    now = clock.now()
    values: dict[str, Any] = {
        "now": now,
        "until": now + LEASE,
        "region": region,
        "limit": limit,
        "per_endpoint": MOST_PER_ENDPOINT,
        "per_organization": MOST_PER_ORGANIZATION,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CLAIM, values)
        return [Claim(*row) for row in cursor.fetchall()]


def prepare(claim: Claim) -> Task | None:
    """The request of a claim. None when there is nothing to send: the endpoint is off, or the store is away."""
    found = WebhookDelivery.objects.select_related("event__job", "endpoint").filter(pk=claim.delivery_id).first()
    if found is None:
        return None
    event, endpoint = found.event, found.endpoint
    if endpoint.deleted_at or endpoint.disabled_at:
        _update_held(claim, state=DeliveryState.CANCELLED, leased_until=None)
        return None
    now = clock.now()
    try:
        message = messages.render(event, endpoint, now=now)
    except StoreUnavailable:
        _update_held(claim, leased_until=None, next_attempt_at=now + STORE_REST, tries_left=found.tries_left + 1)
        return None
    job, about = event.job, {"organization": str(event.organization_id)}
    erased = job is not None and job.data_deleted_at is not None
    return Task(
        claim,
        message,
        event.region,
        "" if erased else keys.webhook_answer(event.organization_id, event.job_id),
        event.type,
        about | ({"job": str(job.pk)} if job else {}),
        job.traceparent if job else "",
    )


def send(task: Task) -> Outcome:
    """Do the request; touches no database."""
    at, began = clock.now(), clock.monotonic()
    try:
        reply = safe_http.post(
            task.message.url,
            body=task.message.body,
            headers=task.message.headers,
            total_timeout_s=TOTAL_TIMEOUT_S,
            max_response_bytes=ANSWER_BYTES,
        )
    except (RefusedUrl, Unreachable) as error:
        return Outcome(at, _milliseconds_since(began), error=error.message)
    duration_ms = _milliseconds_since(began)
    retry_after_s = retry_after_seconds(reply.headers.get("retry-after"), now=clock.now())
    return Outcome(at, duration_ms, reply.status, "", retry_after_s, _keep(task, reply.body))


def settle(claim: Claim, outcome: Outcome) -> None:
    """Log an attempt and move its delivery on, if no later attempt has begun."""
    with transaction.atomic():
        endpoint = _endpoint_of(claim)
        if endpoint is None:
            return
        WebhookAttempt.objects.create(
            delivery_id=claim.delivery_id,
            number=claim.number,
            at=outcome.at,
            duration_ms=outcome.duration_ms,
            status=outcome.status,
            error=outcome.error,
            answer_key=outcome.answer_key,
        )
        if outcome.delivered:
            _update_held(claim, state=DeliveryState.DELIVERED, leased_until=None)
            WebhookEndpoint.objects.filter(pk=endpoint.pk).update(failing_since=None)
        else:
            _fail(claim, outcome, endpoint, clock.now())


def _fail(claim: Claim, outcome: Outcome, endpoint: WebhookEndpoint, now: datetime) -> None:
    gone = outcome.status == GONE
    delivery = WebhookDelivery.objects.select_for_update().get(pk=claim.delivery_id)
    if delivery.tries_left and not gone:
        wait = wait_before_next(delivery.tries_left, retry_after_s=outcome.retry_after_s)
        _update_held(claim, leased_until=None, next_attempt_at=now + wait)
    elif delivery.state == DeliveryState.PENDING:
        _update_held(claim, leased_until=None, state=DeliveryState.FAILED)
    if endpoint.failing_since is None:
        endpoint.failing_since = now
        endpoint.save(update_fields=["failing_since"])
    if endpoint.disabled_at is None and (gone or endpoint.failing_since <= now - PATIENCE):
        reason = WebhookEndpoint.Disabled.GONE if gone else WebhookEndpoint.Disabled.FAILING
        endpoints.switch_off(endpoint, reason, actor=system("webhooks"), now=now)


def _endpoint_of(claim: Claim) -> WebhookEndpoint | None:
    of_delivery = WebhookDelivery.objects.filter(pk=claim.delivery_id).values("endpoint_id")
    return WebhookEndpoint.objects.select_for_update(no_key=True).filter(pk__in=of_delivery).first()


def _update_held(claim: Claim, **fields: object) -> bool:
    return bool(WebhookDelivery.objects.filter(pk=claim.delivery_id, attempts=claim.number).update(**fields))


def _keep(task: Task, answer: bytes) -> str:
    """The answer may repeat what was sent, so it is kept where the job's data is, and goes with it."""
    if not answer or not task.answer_key:
        return ""
    try:
        store(task.region).put(task.answer_key, answer)
    except StoreUnavailable:
        return ""
    return task.answer_key


def _milliseconds_since(began: float) -> int:
    return round((clock.monotonic() - began) * 1000)
