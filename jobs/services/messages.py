"""What is sent to an endpoint: the envelope of reference 001, signed as Standard Webhooks asks for.

Rendered from the job at every attempt: the time and the link to the result are fresh, the `webhook-id` stays.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from standardwebhooks import Webhook

from anex.core import sealing
from anex.core.errors import Conflict, Gone
from jobs.models import Job, WebhookEndpoint, WebhookEvent
from jobs.selectors import contents
from jobs.services import results
from jobs.services.endpoints import PURPOSE
from jobs.webhooks import EventType


@dataclass(frozen=True, slots=True)
class Message:
    """One attempt's request; the signature is over exactly these bytes."""

    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def render(event: WebhookEvent, endpoint: WebhookEndpoint, *, now: datetime) -> Message:
    """The signed request for this moment. Raises StoreUnavailable while the job's region cannot be read."""
    envelope = {
        "type": event.type,
        "timestamp": now.isoformat(timespec="milliseconds"),
        "id": str(event.pk),
        "data": _data(event),
    }
    body = orjson.dumps(envelope)
    signatures = [Webhook(secret).sign(str(event.pk), now, body.decode()) for secret in _secrets(endpoint, now)]
    headers = {
        "Content-Type": "application/json",
        "webhook-id": str(event.pk),
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return Message(endpoint.url, headers, body)


def can_be_signed() -> bool:
    """Whether this process's SECRET_KEY opens the secret of the newest endpoint; where there is none it does."""
    newest = WebhookEndpoint.objects.order_by("created_at").last()
    return newest is None or sealing.can_open(newest.sealed_secret, purpose=PURPOSE)


def _secrets(endpoint: WebhookEndpoint, now: datetime) -> list[str]:
    sealed = [endpoint.sealed_secret]
    if endpoint.previous_expires_at and endpoint.previous_expires_at > now:
        sealed.append(endpoint.sealed_previous)
    return [sealing.unseal(secret, purpose=PURPOSE) for secret in sealed]


def _data(event: WebhookEvent) -> dict[str, Any]:
    job = event.job
    if job is None:
        return {"job_id": None}
    data: dict[str, Any] = {"job_id": str(job.pk)}
    match event.type:
        case EventType.COST_READY:
            estimate = {
                "est_input_tok": job.est_input_tokens,
                "est_output_tok": job.est_output_tokens,
                "est_cost_cents": job.quote_cents,
            }
            return data | estimate
        case EventType.COMPLETED:
            return data | {"status": job.status} | _link(job)
        case EventType.FAILED | EventType.CANCELLED:
            return data | {"status": job.status, "partial": bool(job.partial)} | _failure(job) | _link(job)
        case _:
            return data


def _failure(job: Job) -> dict[str, str]:
    if not job.failure_code:
        return {}
    recorded = contents.failure(job)
    return {"failure_code": job.failure_code} | ({"failure_reason": recorded.reason} if recorded else {})


def _link(job: Job) -> dict[str, Any]:
    """Nothing where there is nothing to download, or nothing any more."""
    try:
        link = results.link(organization_id=job.organization_id, job_id=job.pk)
    except (Conflict, Gone):
        return {}
    return {"result_url": link.url, "result_expires_in": link.expires_in_s}
