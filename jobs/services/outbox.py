"""Writes the events of webhooks, in the transaction of what happened: either both are there or neither is."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from anex.core import clock
from jobs.lifecycle import Status
from jobs.models import Job, WebhookDelivery, WebhookEndpoint, WebhookEvent
from jobs.services.doorbell import ring
from jobs.webhooks import ATTEMPTS, EVENT_OF


def record_step(job_id: UUID, status: Status) -> None:
    """Leave a job's new status for every endpoint that wants it; a step that is not told leaves nothing."""
    event_type = EVENT_OF.get(status)
    if event_type is None:
        return
    organization = Job.objects.filter(pk=job_id).values("organization_id")
    enabled = WebhookEndpoint.objects.filter(organization_id__in=organization, deleted_at=None, disabled_at=None)
    wanting = [endpoint for endpoint in enabled if not endpoint.events or event_type in endpoint.events]
    if not wanting:
        return
    region = Job.objects.values_list("region", flat=True).get(pk=job_id)
    event = WebhookEvent(organization_id=wanting[0].organization_id, region=region, type=event_type, job_id=job_id)
    put(event, wanting, now=clock.now())


def put(event: WebhookEvent, endpoints: Iterable[WebhookEndpoint], *, now: datetime) -> list[WebhookDelivery]:
    """Insert an event with a delivery to each endpoint, due at once; inside the caller's transaction."""
    event.save(force_insert=True)
    made = WebhookDelivery.objects.bulk_create(
        WebhookDelivery(event=event, endpoint=endpoint, next_attempt_at=now, tries_left=ATTEMPTS)
        for endpoint in endpoints
    )
    ring()
    return made
