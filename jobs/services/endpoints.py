"""Where an organization is told of its jobs: several endpoints, each with a filter and a secret of its own.

A secret is shown when it is made. After a rotation both secrets sign until the overlap ends, so that a receiver can
change over without missing a delivery.
"""

import base64
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import Organization
from accounts.services import audit
from anex.core import clock, safe_http, sealing
from anex.core.actors import Actor
from anex.core.errors import Conflict, InvalidRequest
from jobs.models import WebhookDelivery, WebhookEndpoint
from jobs.selectors import webhooks
from jobs.webhooks import CHOICES, DeliveryState

MOST_ENDPOINTS = 10
OVERLAP = timedelta(hours=24)
MAX_URL = 2000
MAX_DESCRIPTION = 200
PURPOSE = "webhook-secret"
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person sets of an endpoint; no `events` means every event."""

    url: str
    events: Collection[str] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret just made, in the form `whsec_…`; it is shown now and never again."""

    endpoint_id: UUID
    secret: str = field(repr=False)


def create(*, organization_id: UUID, wishes: Wishes, actor: Actor) -> NewSecret:
    """Add an endpoint.

    Raises InvalidRequest (400) for an address that may not be called or another unusable wish, Conflict (409) when
    there are as many as there may be.
    """
    given = _checked(wishes)
    with transaction.atomic():
        # Two at once count one after the other.
        Organization.objects.select_for_update(no_key=True).get(pk=organization_id)
        if len(webhooks.endpoints(organization_id)) >= MOST_ENDPOINTS:
            raise Conflict(f"An organization has at most {MOST_ENDPOINTS} endpoints. Delete one that is not needed.")
        endpoint = WebhookEndpoint(organization_id=organization_id, created_by=str(actor), **given)
        made = _new_secret(endpoint)
        endpoint.save(force_insert=True)
        _record("webhook.create", endpoint, actor, events=endpoint.events or ["every event"])
    return made


def change(*, organization_id: UUID, endpoint_id: UUID, wishes: Wishes, actor: Actor) -> None:
    """Another address, filter or description; also for what is waiting. Raises as `create`, NotFound (404)."""
    was = webhooks.endpoint(organization_id, endpoint_id).url
    given = _checked(wishes, known_url=was)
    with transaction.atomic():
        endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
        for name, value in given.items():
            setattr(endpoint, name, value)
        endpoint.save(update_fields=list(given))
        moved = {"address": "changed"} if endpoint.url != was else {}
        _record("webhook.change", endpoint, actor, events=endpoint.events or ["every event"], **moved)


@transaction.atomic
def rotate(*, organization_id: UUID, endpoint_id: UUID, actor: Actor) -> NewSecret:
    """A new secret; the one before signs too for OVERLAP, an older one no longer. Raises NotFound (404)."""
    endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
    endpoint.sealed_previous, endpoint.previous_expires_at = endpoint.sealed_secret, clock.now() + OVERLAP
    made = _new_secret(endpoint)
    endpoint.save()
    _record("webhook.rotate", endpoint, actor, former_signs_until=endpoint.previous_expires_at.isoformat())
    return made


@transaction.atomic
def end_overlap(*, organization_id: UUID, endpoint_id: UUID, actor: Actor) -> None:
    """Stop signing with the former secret. Raises NotFound (404), Conflict (409) when there is none that signs."""
    endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
    if endpoint.previous_expires_at is None or endpoint.previous_expires_at <= clock.now():
        raise Conflict("The former secret does not sign any more.")
    endpoint.sealed_previous, endpoint.previous_expires_at = "", None
    endpoint.save()
    _record("webhook.end_overlap", endpoint, actor)


@transaction.atomic
def enable(*, organization_id: UUID, endpoint_id: UUID, actor: Actor) -> None:
    """Tell the endpoint of what happens from now on. Raises NotFound (404), Conflict (409) when it is enabled."""
    endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
    if endpoint.disabled_at is None:
        raise Conflict("This endpoint is enabled already.")
    endpoint.disabled_at, endpoint.disabled_reason, endpoint.failing_since = None, "", None
    endpoint.save()
    _record("webhook.enable", endpoint, actor)


@transaction.atomic
def disable(*, organization_id: UUID, endpoint_id: UUID, actor: Actor) -> None:
    """Send nothing more; what is waiting is cancelled. Raises NotFound (404), Conflict (409) when it is disabled."""
    endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
    if endpoint.disabled_at is not None:
        raise Conflict("This endpoint is disabled already.")
    switch_off(endpoint, WebhookEndpoint.Disabled.BY_HAND, actor=actor, now=clock.now())


@transaction.atomic
def delete(*, organization_id: UUID, endpoint_id: UUID, actor: Actor) -> None:
    """Forget an endpoint and its secrets; what is waiting is cancelled. Raises NotFound (404)."""
    endpoint = webhooks.locked_endpoint(organization_id, endpoint_id)
    endpoint.deleted_at = clock.now()
    endpoint.sealed_secret = endpoint.sealed_previous = ""
    endpoint.save()
    _cancel_waiting(endpoint)
    _record("webhook.delete", endpoint, actor)


def switch_off(endpoint: WebhookEndpoint, reason: WebhookEndpoint.Disabled, *, actor: Actor, now: datetime) -> None:
    """Disable an endpoint that the caller's transaction has locked."""
    endpoint.disabled_at, endpoint.disabled_reason = now, reason
    endpoint.save(update_fields=["disabled_at", "disabled_reason"])
    _cancel_waiting(endpoint)
    _record("webhook.disable", endpoint, actor, why=reason.label)


def _cancel_waiting(endpoint: WebhookEndpoint) -> None:
    waiting = WebhookDelivery.objects.filter(endpoint=endpoint, state=DeliveryState.PENDING)
    waiting.update(state=DeliveryState.CANCELLED)


def _checked(wishes: Wishes, *, known_url: str = "") -> dict[str, Any]:
    """The fields of an endpoint; outside of any transaction, for a new address is looked up."""
    url, description = wishes.url.strip(), wishes.description.strip()
    if not url or len(url) > MAX_URL:
        raise InvalidRequest(f"An address has 1 to {MAX_URL} characters.", param="url")
    if len(description) > MAX_DESCRIPTION or not description.isprintable():
        raise InvalidRequest(
            f"A description has at most {MAX_DESCRIPTION} characters, all on one line.", param="description"
        )
    if not set(wishes.events) <= set(CHOICES):
        raise InvalidRequest("Choose among the events that there are.", param="events")
    if url != known_url:
        safe_http.check_url(url)
    chosen = [str(event) for event in CHOICES if event in wishes.events]
    return {"url": url, "description": description, "events": [] if len(chosen) == len(CHOICES) else chosen}


def _new_secret(endpoint: WebhookEndpoint) -> NewSecret:
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    endpoint.sealed_secret = sealing.seal(secret, purpose=PURPOSE)
    return NewSecret(endpoint.pk, secret)


def _record(action: str, endpoint: WebhookEndpoint, actor: Actor, **details: object) -> None:
    """An address may carry a token of the receiver's, so the audit record names the endpoint by its id alone."""
    audit.record(
        organization_id=endpoint.organization_id,
        actor=actor,
        action=action,
        target=str(endpoint.pk),
        details=details,
    )
