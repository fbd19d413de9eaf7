"""A collector of traces, as small as one can be: takes OTLP over HTTP and keeps what it was told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.realtime.served import until


@dataclass(frozen=True)
class Told:
    """A span."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    facts: dict[str, Any]
    failed: bool


@dataclass
class Collector:
    """`raw` is every body as it came, `headers` those of the requests."""

    port: int = 0
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    spans: list[Told] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Names it to a process, which is not to wait long before it tells."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}", "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def one(self, name: str, **facts: Any) -> Told:
        """The only span of a name with these facts (dots are double underscores), once it is told."""
        wanted = {key.replace("__", "."): value for key, value in facts.items()}
        found = self.wait(lambda span: span.name == name and span.facts.items() >= wanted.items())
        assert len(found) == 1, found
        return found[0]

    def wait(self, wanted: Callable[[Told], bool], count: int = 1) -> list[Told]:
        """The spans that are wanted, once there are so many."""
        found: list[Told] = []

        def is_there() -> bool:
            found[:] = [span for span in self.spans if wanted(span)]
            return len(found) >= count

        until(is_there, seconds=20)
        return found

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        """Keep a request."""
        self.raw.append(body)
        self.headers.append(headers)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    facts = {each.key: _value(each.value) for each in span.attributes}
                    ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
                    failed = span.status.code == 2
                    self.spans.append(Told(about["service.name"], span.name, span.kind, *ids, facts, failed))


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


@contextmanager
def collecting(*, endless: bool = False) -> Iterator[Collector]:
    """One that listens until the block ends; with `endless` its answers do not."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            if not endless:
                self.send_header("Content-Length", "0")
            self.end_headers()
            with suppress(OSError):
                while endless:
                    self.wfile.write(b"x" * 65536)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join(5)
