"""Deliveries asked for by hand, and how long the log is kept."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.services import audit
from anex.core import clock, sweeps
from anex.core.actors import Actor
from anex.core.errors import Conflict
from jobs.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent
from jobs.selectors import webhooks
from jobs.services import outbox
from jobs.services.doorbell import ring
from jobs.storage import store
from jobs.storage.interface import StoreUnavailable
from jobs.webhooks import ATTEMPTS, DeliveryState, EventType

KEPT = timedelta(days=30)
BATCH = 500


@transaction.atomic
def send_test(*, organization_id: UUID, endpoint_id: UUID, actor: Actor) -> WebhookDelivery:
    """Send a `test` event to one endpoint, whatever its filter. Raises NotFound (404), Conflict (409) if disabled."""
    endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
    _require_enabled(endpoint)
    event = WebhookEvent(organization_id=organization_id, region=settings.ANEX_REGION, type=EventType.TEST)
    (delivery,) = outbox.put(event, [endpoint], now=clock.now())
    _record("webhook.test", delivery, endpoint, actor)
    return delivery


@transaction.atomic
def resend(*, organization_id: UUID, delivery_id: UUID, actor: Actor, reason: str = "") -> WebhookDelivery:
    """Send an event again, with the same `webhook-id` and all the attempts of a new one.

    One that waits for its next attempt is sent at once. Raises NotFound (404), Conflict (409) where the endpoint
    is disabled. The `reason` of staff is kept in the audit record.
    """
    found = webhooks.delivery(organization_id, delivery_id)
    endpoint = webhooks.locked_endpoint(organization_id, found.endpoint_id)
    _require_enabled(endpoint)
    delivery = WebhookDelivery.objects.select_for_update().get(pk=found.pk)
    delivery.state, delivery.next_attempt_at = DeliveryState.PENDING, clock.now()
    delivery.tries_left = ATTEMPTS
    delivery.save(update_fields=["state", "next_attempt_at", "tries_left"])
    ring()
    _record("webhook.resend", delivery, endpoint, actor, reason)
    return delivery


def forget(now: datetime) -> int:
    """Delete what happened more than KEPT ago, with its deliveries, their log and the answers kept; safe to repeat.

    Answers how many events were deleted; one whose answers cannot be deleted holds up no other. Raises
    StoreUnavailable; the next sweep goes on from there.
    """
    old = WebhookEvent.objects.filter(region=settings.ANEX_REGION, at__lte=now - KEPT).order_by("at")
    forgotten, tried = 0, list[UUID]()
    while batch := list(old.exclude(pk__in=tried).values_list("pk", flat=True)[:BATCH]):
        try:
            forgotten += _forget(batch)
        except StoreUnavailable:
            tried += batch
            forgotten += sweeps.each(batch, lambda event_id: _forget([event_id]))
    return forgotten


def _forget(event_ids: list[UUID]) -> int:
    """What the store keeps goes first."""
    log = WebhookAttempt.objects.filter(delivery__event__in=event_ids)
    store(settings.ANEX_REGION).delete(log.exclude(answer_key="").values_list("answer_key", flat=True))
    WebhookEvent.objects.filter(pk__in=event_ids).delete()
    return len(event_ids)


def _require_enabled(endpoint: WebhookEndpoint) -> None:
    if endpoint.disabled_at is not None:
        raise Conflict("This endpoint is disabled. Enable it first.")


def _record(action: str, delivery: WebhookDelivery, endpoint: WebhookEndpoint, actor: Actor, reason: str = "") -> None:
    audit.record(
        organization_id=endpoint.organization_id,
        actor=actor,
        action=action,
        target=str(endpoint.pk),
        reason=reason,
        details={"delivery": str(delivery.pk)},
    )
