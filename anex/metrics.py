"""`/metrics` in Prometheus' text format: requests as their processes counted them, everything else as Postgres has it.

docs/observability.md says what each figure is for; deploy/prometheus/alerts.yaml asks for some of them.
"""

import hmac
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from anex.core import clock, measures, swept
from anex.core.money import NANO_PER_DOLLAR
from billing.selectors import measures as money
from inference.backends import registry as servers
from jobs.scale import Queue
from jobs.selectors import measures as jobs
from jobs.selectors import queues

log = logging.getLogger(__name__)

Family = CounterMetricFamily | GaugeMetricFamily
_QUEUES: Final[tuple[tuple[str, str, Callable[[Queue], float | None]], ...]] = (
    ("anex_queue_rows", "Rows that are not durable yet.", lambda queue: queue.rows),
    ("anex_queue_tokens", "Tokens that these rows will take.", lambda queue: queue.tokens),
    ("anex_server_tokens_per_second", "Pace of one server.", lambda queue: queue.tokens_per_second),
    ("anex_servers", "Servers that may be sent requests.", lambda queue: queue.servers),
    ("anex_servers_wanted", "Servers that work the queue off within an hour.", lambda queue: queue.wanted()),
)


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """For whoever presents ANEX_METRICS_TOKEN; there is no such page for anybody else.

    While the database is away it tells that, and what the web processes counted.
    """
    token, given = settings.ANEX_METRICS_TOKEN, request.headers.get("Authorization", "")
    if not token or not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise Http404
    kept = CollectorRegistry(auto_describe=False)
    kept.register(_Kept(_families()))
    return HttpResponse(
        generate_latest(measures.registry()) + generate_latest(kept), content_type=CONTENT_TYPE_PLAIN_0_0_4
    )


class _Kept(Collector):
    """Families that were read, as prometheus_client takes them."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        """All of them."""
        return self._families


def _families() -> list[Family]:
    try:
        found = [*_of_queues(queues.every()), *_of_money(), *_of_jobs(jobs.now()), _silent(), _swept()]
    except (InterfaceError, OperationalError) as error:
        log.warning("the database is away: %s", type(error).__name__)
        found = []
    return [_gauge("anex_database_up", "Whether Postgres answered this reader.", (), [((), bool(found))]), *found]


def _of_queues(found: list[Queue]) -> Iterator[Family]:
    for name, meaning, read in _QUEUES:
        values = [((queue.model_id, queue.region), value) for queue in found if (value := read(queue)) is not None]
        yield _gauge(name, meaning, ("model", "region"), values)


def _of_money() -> Iterator[Family]:
    labels = ("surface", "model")
    today = [((usage.surface, usage.model_id), usage) for usage in money.usage_today()]
    tokens = _counter("anex_tokens", "Tokens settled since midnight (UTC).", (*labels, "kind"))
    for place, usage in today:
        uncached = usage.input_tokens - usage.cached_tokens
        for kind, count in (("input", uncached), ("cached", usage.cached_tokens), ("output", usage.output_tokens)):
            tokens.add_metric([*place, kind], count)
    yield tokens
    settled = _counter("anex_settled_requests", "Requests and rows settled since midnight (UTC).", labels)
    spent = _counter("anex_spend_dollars", "What they were charged.", labels)
    for place, usage in today:
        settled.add_metric(place, usage.requests)
        spent.add_metric(place, usage.amount_nano / NANO_PER_DOLLAR)
    yield from (settled, spent)
    now = money.requests_now()
    yield _gauge("anex_requests_in_flight", "Realtime requests in flight.", (), [((), now.in_flight)])
    yield _gauge("anex_request_holds", "Open holds of realtime requests.", (), [((), now.holds)])
    meaning = "Seconds that the oldest open hold should have been settled for."
    yield _gauge("anex_ledger_lag_seconds", meaning, (), [((), now.lag_s)])


def _of_jobs(found: jobs.Measures) -> Iterator[Family]:
    moving = [((region, status), count) for region, status, count in found.jobs]
    yield _gauge("anex_jobs", "Jobs that are not over.", ("region", "status"), moving)
    for name, meaning, field in (
        ("anex_chunks_open", "Chunks of jobs that are not done.", "open"),
        ("anex_chunks_claimed", "Open chunks that a worker holds.", "claimed"),
        ("anex_chunks_orphaned", "Chunks held by a worker whose lease is over.", "orphaned"),
    ):
        values = [((chunks.region, chunks.kind), getattr(chunks, field)) for chunks in found.chunks]
        yield _gauge(name, meaning, ("region", "kind"), values)
    alive = [((region,), count) for region, count in found.workers]
    yield _gauge("anex_workers", "Workers with a lease.", ("region",), alive)
    waiting = [((region,), count) for region, count, _ in found.webhooks]
    overdue = [((region,), lag_s) for region, _, lag_s in found.webhooks]
    yield _gauge("anex_webhooks_waiting", "Webhooks that are to be sent.", ("region",), waiting)
    yield _gauge("anex_webhook_lag_seconds", "Seconds that the longest is overdue.", ("region",), overdue)
    for name, meaning, count in (
        ("anex_parts", "Parts of results that were made durable, ever.", found.parts),
        ("anex_webhook_attempts", "Attempts to send webhooks, ever.", found.attempts),
    ):
        family = _counter(name, meaning, ())
        family.add_metric((), count)
        yield family


def _silent() -> Family:
    values = [((region,), servers.count_silent(region)) for region in ("world", "eu")]
    return _gauge("anex_servers_silent", "Servers that are switched on and not heard of.", ("region",), values)


def _swept() -> Family:
    ran = [((region,), at) for region in ("world", "eu") if (at := swept.last(region))]
    values = [(place, max(0.0, (clock.now() - at).total_seconds())) for place, at in ran]
    return _gauge("anex_sweep_age_seconds", "Seconds since a sweep last ended.", ("region",), values)


def _gauge(name: str, meaning: str, labels: Iterable[str], values: Iterable[tuple[Any, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=tuple(labels))
    for place, value in values:
        family.add_metric(place, value)
    return family


def _counter(name: str, meaning: str, labels: Iterable[str]) -> CounterMetricFamily:
    return CounterMetricFamily(name, meaning, labels=tuple(labels))
