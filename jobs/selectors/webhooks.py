"""Reads of webhooks, each within one organization; an id of another organization is the same as no id at all."""

from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

from django.db.models import Q, QuerySet

from anex.core.errors import NotFound
from jobs.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from jobs.storage import store
from jobs.storage.interface import ObjectMissing, StoreUnavailable


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries of an endpoint to show; empty is everything."""

    state: str = ""
    type: str = ""
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class LoggedAttempt:
    """One request as a person reads it: the start of the answer, None where none was kept or it cannot be read."""

    attempt: WebhookAttempt
    answer: str | None


def endpoints(organization_id: UUID) -> list[WebhookEndpoint]:
    """The organization's endpoints, the oldest first."""
    return list(_live(organization_id).order_by("created_at"))


def endpoint(organization_id: UUID, endpoint_id: UUID) -> WebhookEndpoint:
    """One endpoint; NotFound for an unknown, foreign or deleted one."""
    return _live(organization_id).filter(pk=endpoint_id).first() or _refuse_unknown()


def locked_endpoint(organization_id: UUID, endpoint_id: UUID) -> WebhookEndpoint:
    """An endpoint whose row stays locked until the caller's transaction ends; NotFound as `endpoint`."""
    found = _live(organization_id).select_for_update(no_key=True).filter(pk=endpoint_id).first()
    return found or _refuse_unknown()


def deliveries(
    endpoint: WebhookEndpoint, wanted: DeliveryFilter, *, before: UUID | None = None, limit: int
) -> list[WebhookDelivery]:
    """At most `limit` deliveries to the endpoint with their events, the newest event first, from the one after
    `before` on; an unknown `before` starts with the newest.
    """
    mine = WebhookDelivery.objects.filter(endpoint=endpoint, event__organization_id=endpoint.organization_id)
    found = mine.select_related("event")
    if wanted.state:
        found = found.filter(state=wanted.state)
    if wanted.type:
        found = found.filter(event__type=wanted.type)
    if wanted.job_id:
        found = found.filter(event__job_id=wanted.job_id)
    at = mine.filter(pk=before).values_list("event__at", flat=True).first() if before else None
    if at is not None:
        found = found.filter(Q(event__at__lt=at) | Q(event__at=at, pk__lt=before), event__at__lte=at)
    return list(found.order_by("-event__at", "-pk")[:limit])


def delivery(organization_id: UUID, delivery_id: UUID) -> WebhookDelivery:
    """One delivery with its event and endpoint; NotFound for an unknown or foreign one, or a deleted endpoint's."""
    found = WebhookDelivery.objects.filter(
        pk=delivery_id, endpoint__organization_id=organization_id, endpoint__deleted_at=None
    )
    return found.select_related("event", "endpoint").first() or _refuse_unknown()


def attempts(delivery: WebhookDelivery) -> list[LoggedAttempt]:
    """The log of a delivery, the newest attempt first, with the start of each answer out of the store."""
    log = delivery.log.order_by("-pk")
    return [LoggedAttempt(attempt, _answer(delivery.event.region, attempt.answer_key)) for attempt in log]


def _answer(region: str, key: str) -> str | None:
    if not key:
        return None
    try:
        return store(region).read(key).decode(errors="replace")
    except (ObjectMissing, StoreUnavailable):
        return None


def _live(organization_id: UUID) -> QuerySet[WebhookEndpoint]:
    return WebhookEndpoint.objects.filter(organization_id=organization_id, deleted_at=None)


def _refuse_unknown() -> NoReturn:
    raise NotFound("There is no such endpoint or delivery.")
