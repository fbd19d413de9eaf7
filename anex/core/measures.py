"""What is measured where it happens, for Prometheus: requests by surface and status, and how long they took.

Several processes that serve one address add up their figures in the folder that PROMETHEUS_MULTIPROC_DIR names (read by
prometheus_client when it is imported); without it each tells its own.
"""

import os
import socket
from functools import lru_cache
from typing import Final

from prometheus_client import CollectorRegistry, Histogram, values
from prometheus_client.multiprocess import MultiProcessCollector

if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    # Containers that share a folder all have the same few process ids.
    values.ValueClass = values.MultiProcessValue(lambda: f"{socket.gethostname()}-{os.getpid()}")  # type: ignore[no-untyped-call]

_OWN: Final = CollectorRegistry()
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_LABELS: Final = ("surface", "status")

_WHOLE: Final = Histogram(
    "anex_request_seconds",
    "From a request's first byte to the end of its answer.",
    _LABELS,
    buckets=_SECONDS,
    registry=_OWN,
)
_BEGUN: Final = Histogram(
    "anex_answer_begun_seconds",
    "From a request's first byte to the head of its answer.",
    _LABELS,
    buckets=_SECONDS,
    registry=_OWN,
)
SETTLED: Final = Histogram(
    "anex_settlement_seconds",
    "From the end of a realtime request to its durable line of the ledger.",
    buckets=_SECONDS,
    registry=_OWN,
)

_API: Final = ("v1", "openai", "batch", "realtime")
_CALLS: Final = {
    "chat": "chat",
    "responses": "responses",
    "completions": "completions",
    "embeddings": "embeddings",
    "systemone": "decisions",
    "models": "models",
    "files": "files",
    "batches": "batches",
    "jobs": "jobs",
    "inputs": "inputs",
    "media": "media",
    "uploads": "uploads",
}
_PLACES: Final = frozenset(
    {"static", "storage", "docs", "admin", "accounts", "billing", "metrics", "healthz", "readyz"}
)
_NO_STATUS: Final = 499


def surface_of(path: str) -> str:
    """The surface of a path, of few: a label of a metric is no place for what clients make up."""
    parts = path[:64].split("/")
    first = parts[1] if len(parts) > 1 else ""
    if first in _API:
        rest = parts[2:] if first == "v1" else parts[3:]
        return _CALLS.get(rest[0] if rest else "", "api")
    return first if first in _PLACES else "console"


def count_request(path: str, status: int, *, begun_s: float | None, whole_s: float) -> None:
    """One request was answered with this status; 499 where its client left before."""
    whole, begun = _of(surface_of(path), status)
    whole.observe(whole_s)
    if begun_s is not None:
        begun.observe(begun_s)


def registry() -> CollectorRegistry:
    """What is to be told of this process and those it shares a folder with, for one reader."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return _OWN
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared


@lru_cache(maxsize=2048)
def _of(surface: str, status: int) -> tuple[Histogram, Histogram]:
    labels = (surface, str(status if 100 <= status < 600 else _NO_STATUS))
    return _WHOLE.labels(*labels), _BEGUN.labels(*labels)
