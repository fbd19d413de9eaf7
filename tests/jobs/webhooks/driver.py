"""Endpoints, and the steps of a delivery one by one in this process, as a worker's deliverer would take them."""

from datetime import timedelta
from typing import Any

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from jobs.models import WebhookDelivery, WebhookEndpoint
from jobs.run import deliveries
from jobs.run.deliveries import Outcome
from jobs.services import endpoints
from jobs.services.deliveries import send_test
from jobs.services.endpoints import Wishes
from tests.https import Server

ACTOR = system("tests")


def add(organization: Organization, url: str, **wishes: Any) -> tuple[WebhookEndpoint, str]:
    """An endpoint and its secret."""
    made = endpoints.create(organization_id=organization.pk, wishes=Wishes(url, **wishes), actor=ACTOR)
    return WebhookEndpoint.objects.get(pk=made.endpoint_id), made.secret


def listening(organization: Organization, server: Server, path: str = "/hook", **wishes: Any) -> WebhookEndpoint:
    """An endpoint whose receiver answers 200."""
    server.answer(path, 200, b"taken")
    return add(organization, server.url(path), **wishes)[0]


def ping(endpoint: WebhookEndpoint) -> WebhookDelivery:
    """A `test` on its way to the endpoint."""
    return send_test(organization_id=endpoint.organization_id, endpoint_id=endpoint.pk, actor=ACTOR)


def deliver_due() -> list[Outcome]:
    """Send everything that is due now, one after the other; what came of each."""
    outcomes = []
    while claims := deliveries.claim(region="world", limit=1):
        task = deliveries.prepare(claims[0])
        if task is not None:
            outcomes.append(deliveries.send(task))
            deliveries.settle(claims[0], outcomes[-1])
    return outcomes


def make_due(delivery: WebhookDelivery) -> timedelta:
    """Let a waiting delivery be due now; how long it would have waited."""
    delivery.refresh_from_db()
    wait = delivery.next_attempt_at - clock.now()
    WebhookDelivery.objects.filter(pk=delivery.pk).update(next_attempt_at=clock.now())
    return wait
