"""Traces for whoever names a collector in OpenTelemetry's own variables; without one nothing of it is imported.

A span holds figures, our own words and the ids that log lines hold; never what a customer sent, nor a path.
"""

import importlib
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Literal, Protocol, Self

from anex.core import log_ids

Kind = Literal["internal", "server", "client", "consumer"]
Fact = str | int | float | bool

PARENT: Final = "traceparent"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Live(Protocol):
    """A span that is begun; `traceparent` names it to others, `trace` the trace it is told in, if it is."""

    @property
    def traceparent(self) -> str: ...

    @property
    def trace(self) -> str: ...

    def note(self, facts: Mapping[str, Fact]) -> None: ...

    def fail(self, why: str) -> None: ...

    def end(self) -> None: ...


class Tracer(Protocol):
    """Begins spans, each of them the present one of its task or thread and of what that starts."""

    def start(self, name: str, kind: Kind, parent: str, facts: Mapping[str, Fact]) -> Live: ...

    def present(self) -> Live | None: ...

    def end(self) -> None: ...


_tracer: Tracer | None = None


class Span:
    """A block that is told to the collector, with the ids of its log lines; an exception in it by its name alone."""

    __slots__ = ("_live",)

    def __init__(self, live: Live | None) -> None:
        self._live = live

    def note(self, facts: Mapping[str, Fact]) -> None:
        """Tell these too."""
        if self._live:
            self._live.note(facts)

    def fail(self, why: str) -> None:
        """It did not go well; `why` is a word of ours."""
        if self._live:
            self._live.fail(why)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            if kind is not None:
                self._live.fail(kind.__name__)
            if self._live.trace:
                self._live.note({f"anex.{name}": value for name, value in log_ids.current().items() if name != "trace"})
            self._live.end()


NOTHING: Final = Span(None)


def begin(service: str, *, region: str) -> None:
    """Let this process tell its spans, where a collector is named; `service` unless OTEL_SERVICE_NAME says otherwise.

    Raises RuntimeError, with what to do, where that cannot be.
    """
    global _tracer
    if not is_wanted():
        return
    try:
        spans = importlib.import_module("anex.core.spans")
    except ImportError as error:
        raise RuntimeError("Traces need what is not installed: pip install -r requirements-traces.txt") from error
    _tracer = spans.tracer(service, region=region)


def end() -> None:
    """Tell what is left: for who ends by a signal, after which Python does nothing more. Takes seconds at most."""
    if _tracer is not None:
        _tracer.end()


def is_wanted() -> bool:
    """Whether the environment names a collector, and does not switch traces off."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    return not off and bool(endpoint())


def endpoint() -> str:
    """The collector that the environment names, if any."""
    return next((named for name in _ENDPOINTS if (named := os.environ.get(name))), "")


def is_on() -> bool:
    """Whether spans are told."""
    return _tracer is not None


def span(name: str, *, kind: Kind = "internal", parent: str = "", facts: Mapping[str, Fact] | None = None) -> Span:
    """Begins now and ends with the block that it is entered for; below the present one unless a `parent` is named.

    `parent` is a `traceparent` of W3C's; one that is none is passed over.
    """
    if _tracer is None:
        return NOTHING
    live = _tracer.start(name, kind, parent, facts or {})
    if live.trace:
        log_ids.add(trace=live.trace)
    return Span(live)


def note(facts: Mapping[str, Fact]) -> None:
    """Tell these of the present span."""
    if _tracer is not None and (live := _tracer.present()):
        live.note(facts)


def traceparent() -> str:
    """What names the present span to a process that goes on with it; empty where there is none."""
    if _tracer is None or (live := _tracer.present()) is None:
        return ""
    return live.traceparent


def headers() -> dict[str, str]:
    """What a request to somebody else carries."""
    return {PARENT: told} if (told := traceparent()) else {}
