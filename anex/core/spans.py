"""OpenTelemetry's part of tracing: imported where a collector is named, and nowhere else (see anex.core.tracing).

Endpoint, headers, certificate, sampler and the size of the queue are read by its own library, from its own variables.
"""

import os
from collections.abc import Mapping
from contextvars import Token
from typing import Any, Final

import requests
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.re import parse_env_headers

from anex.core.tracing import PARENT, Fact, Kind
from anex.core.variables import variables

_KINDS: Final[dict[Kind, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_W3C: Final = TraceContextTextMapPropagator()
# How long the end of a process waits for the collector to take what is left.
END_S: Final = 5.0


class Live:
    """A span, and with `token` the one that is present again after it."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: trace.Span, token: Token[Context] | None = None) -> None:
        self._span = span
        self._token = token

    @property
    def traceparent(self) -> str:
        """Its name for others."""
        told = self._span.get_span_context()
        return f"00-{told.trace_id:032x}-{told.span_id:016x}-{int(told.trace_flags) & 1:02x}"

    @property
    def trace(self) -> str:
        """The id of what the collector is told of; empty where it is told nothing."""
        return f"{self._span.get_span_context().trace_id:032x}" if self._span.is_recording() else ""

    def note(self, facts: Mapping[str, Fact]) -> None:
        """Attributes."""
        self._span.set_attributes(facts)

    def fail(self, why: str) -> None:
        """Its status; no exception's text, which may quote what was asked."""
        self._span.set_attribute("error.type", why)
        self._span.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        """In the task or thread that began it."""
        self._span.end()
        if self._token:
            context.detach(self._token)


class Tracer:
    """Begins spans of this process."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("anex")

    def start(self, name: str, kind: Kind, parent: str, facts: Mapping[str, Fact]) -> Live:
        """A span below `parent`, or below the present one."""
        above = _W3C.extract({PARENT: parent}) if parent else None
        span = self._tracer.start_span(name, above, _KINDS[kind], facts)
        return Live(span, context.attach(trace.set_span_in_context(span)))

    def present(self) -> Live | None:
        """The span of this task or thread."""
        span = trace.get_current_span()
        return Live(span) if span.get_span_context().is_valid else None

    def end(self) -> None:
        """Tell what is left."""
        self._provider.shutdown()


class _Batches(BatchSpanProcessor):
    """As OpenTelemetry's, which at its end waits 30 s for a collector that does not answer: a unit may have less."""

    def shutdown(self) -> None:
        """Tell what is left."""
        self._batch_processor.shutdown(timeout_millis=round(END_S * 1000))


def tracer(service: str, *, region: str) -> Tracer:
    """Tells spans over OTLP/HTTP from a thread of its own, and what is left when the process ends."""
    protocol = next((named for name in _PROTOCOLS if (named := os.environ.get(name))), "http/protobuf")
    if protocol != "http/protobuf":
        raise RuntimeError("Traces are told as http/protobuf alone: unset OTEL_EXPORTER_OTLP_PROTOCOL.")
    facts: dict[str, Any] = {"anex.region": region}
    told = Resource.create()
    if str(told.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
        facts["service.name"] = service
    # Read here too, since they may be given as a file.
    headers = next((given for name in _HEADERS if (given := variables.get(name))), "")
    session = requests.Session()
    # Of an answer its status is all that matters; whatever follows, without an end maybe, is not read.
    session.stream = True
    exporter = OTLPSpanExporter(headers=parse_env_headers(headers, liberal=True) if headers else None, session=session)
    provider = TracerProvider(resource=told.merge(Resource(facts)))
    provider.add_span_processor(_Batches(exporter))
    return Tracer(provider)
