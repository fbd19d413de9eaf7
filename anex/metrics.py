"""`/metrics`: what waits for each model's servers, in Prometheus' text format."""

import hmac
from collections.abc import Callable

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from jobs.scale import Queue
from jobs.selectors import queues

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
GAUGES: tuple[tuple[str, str, Callable[[Queue], float | None]], ...] = (
    ("anex_queue_rows", "Rows that are not durable yet.", lambda queue: queue.rows),
    ("anex_queue_tokens", "Tokens that these rows will take.", lambda queue: queue.tokens),
    ("anex_server_tokens_per_second", "Pace of one server.", lambda queue: queue.tokens_per_second),
    ("anex_servers", "Servers that may be sent requests.", lambda queue: queue.servers),
    ("anex_servers_wanted", "Servers that work the queue off within an hour.", lambda queue: queue.wanted()),
)


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """For whoever presents ANEX_METRICS_TOKEN; there is no such page for anybody else."""
    token, given = settings.ANEX_METRICS_TOKEN, request.headers.get("Authorization", "")
    if not token or not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise Http404
    return HttpResponse(render(queues.every()), content_type=CONTENT_TYPE)


def render(found: list[Queue]) -> str:
    """The gauges of these queues; one that is unknown is left out. Ids of models need no escaping."""
    lines = []
    for name, meaning, read in GAUGES:
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
        for queue in found:
            value = read(queue)
            if value is not None:
                lines.append(f'{name}{{model="{queue.model_id}",region="{queue.region}"}} {value}')
    return "\n".join(lines) + "\n"
