"""What staff should know of work."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.conf import settings

from anex.core import clock
from anex.core.overview import Fact, about_organization, count, of_organization, on_first_page, shown
from inference.backends import registry
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Input, Job, WebhookDelivery, WebhookEndpoint, Worker
from jobs.webhooks import DeliveryState

SECTION = "Work"
BEFORE_QUOTE = (Status.SUBMITTED, Status.ESTIMATING)
# An estimate takes minutes, an hour where a sample is long.
LONG = timedelta(hours=1)


@on_first_page
def tell() -> Iterator[Fact]:
    """What waits, what runs, what failed, and who does the work."""
    now = clock.now()
    since = now - timedelta(days=1)
    broken = count(Job.objects.filter(status=Status.FAILED, failure_code="internal_error", finished_at__gte=since))
    ours = (("failure_code__exact", "internal_error"), ("finished_at__gte", since.isoformat()))
    yield Fact("Jobs that failed by our fault, 24 h", shown(broken), "jobs_job", ours, SECTION, broken > 0)
    late = count(Job.objects.filter(status__in=BEFORE_QUOTE, created_at__lt=now - LONG))
    waiting = (("status__in", ",".join(BEFORE_QUOTE)), ("created_at__lt", (now - LONG).isoformat()))
    yield Fact("Jobs without a price for an hour", shown(late), "jobs_job", waiting, SECTION, late > 0)
    yield from _without_servers()
    for label, status in (("Jobs that wait for approval", Status.COST_READY), ("Running jobs", Status.IN_PROGRESS)):
        found = shown(count(Job.objects.filter(status=status)))
        yield Fact(label, found, "jobs_job", (("status__exact", status),), SECTION)
    failed = count(WebhookDelivery.objects.filter(state=DeliveryState.FAILED))
    given_up = (("state__exact", DeliveryState.FAILED.value),)
    yield Fact("Webhook deliveries given up", shown(failed), "jobs_webhookdelivery", given_up, SECTION)
    alive = Worker.objects.filter(heartbeat_at__gt=now - timedelta(seconds=settings.ANEX_LEASE_SECONDS)).count()
    yield Fact("Workers alive", shown(alive), "jobs_worker", (), SECTION, alive == 0)


@about_organization
def tell_of(organization_id: UUID) -> Iterator[Fact]:
    """Jobs, inputs and endpoints."""
    mine = Job.objects.filter(organization_id=organization_id)
    under_way = shown(count(mine.exclude(status__in=TERMINAL)))
    yield Fact("Jobs", f"{under_way} under way", "jobs_job", of_organization(organization_id))
    inputs = Input.objects.filter(organization_id=organization_id)
    yield Fact("Inputs", shown(count(inputs)), "jobs_input", of_organization(organization_id))
    endpoints = WebhookEndpoint.objects.filter(organization_id=organization_id, deleted_at=None)
    yield Fact("Webhooks", shown(count(endpoints)), "jobs_webhookendpoint", of_organization(organization_id))


def _without_servers() -> Iterator[Fact]:
    """Models with running jobs and no server, in this region."""
    region = settings.ANEX_REGION
    running = Job.objects.filter(status=Status.IN_PROGRESS, region=region, paused=False)
    wanted = set(running.order_by().values_list("model_id", flat=True).distinct())
    absent = sorted(wanted - registry.count_live(region).keys())
    filters = (("status__exact", Status.IN_PROGRESS.value), ("model_id__in", ",".join(absent)))
    if absent:
        yield Fact("Running jobs without a server", ", ".join(absent), "jobs_job", filters, SECTION, True)
