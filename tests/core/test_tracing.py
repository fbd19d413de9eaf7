"""Traces by themselves: nothing of OpenTelemetry unless a collector is named, and then what its variables say."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from anex.core import log_ids, tracing
from anex.settings.base import BASE_DIR
from tests.otlp import collecting

# As where it is not installed: redis imports it where it is.
PROCESSES = """
import sys
sys.modules["opentelemetry"] = None
import anex.asgi, anex.celery, accounts.tasks, billing.tasks, jobs.tasks
from anex.core import tracing
assert not tracing.is_on()
names = ("opentelemetry.", "google.protobuf", "anex.core.spans")
print([name for name in sys.modules if name.startswith(names)])
"""
SPANS = """
from anex.core import log_ids, tracing
tracing.begin("anex-web", region="eu")
log_ids.begin(request="r1")
for parent in ("", "junk", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "00-" + "a" * 32 + "-00f067aa0ba902b7-01"):
    with tracing.span("s", parent=parent, facts={"anex.n": 1}):
        print(tracing.traceparent())
print(tracing.traceparent() or "none")
try:
    with tracing.span("fails"):
        raise ValueError("zebra")
except ValueError:
    pass
"""


def told(code: str, **variables: str) -> list[str]:
    """What a process prints that has these variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | variables
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_no_process_imports_anything_of_it_unless_a_collector_is_named() -> None:
    settings = {"DJANGO_SETTINGS_MODULE": "anex.settings.test"}
    assert told(PROCESSES, **settings) == ["[]"]
    for off in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}):
        named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
        assert told("from anex.core import tracing; print(tracing.is_wanted())", **named, **off) == ["False"]


def test_spans_go_to_the_collector_with_ids_and_without_what_exceptions_say(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text("authorization=Bearer%20s3cret\n")
    with collecting() as collector:
        parents = told(
            SPANS,
            **collector.environment,
            OTEL_EXPORTER_OTLP_HEADERS_FILE=str(tmp_path / "headers"),
            OTEL_RESOURCE_ATTRIBUTES="service.name=mine",
        )
    assert collector.headers[0]["authorization"] == "Bearer s3cret"
    assert [span.service for span in collector.spans] == ["mine"] * 5
    assert [f"00-{span.trace}-{span.id}-01" for span in collector.spans[:4]] == parents[:4]
    assert (parents[4], [span.parent for span in collector.spans]) == ("none", ["", "", "", "00f067aa0ba902b7", ""])
    assert len({span.trace for span in collector.spans}) == 5
    assert collector.spans[3].trace == "a" * 32
    assert collector.spans[0].facts == {"anex.n": 1, "anex.request": "r1"}
    assert (collector.spans[4].failed, collector.spans[4].facts["error.type"]) == (True, "ValueError")
    assert b"zebra" not in b"".join(collector.raw)


def test_what_is_not_sampled_is_not_told_and_says_so_to_those_who_go_on() -> None:
    with collecting() as collector:
        parents = told(SPANS, **collector.environment, OTEL_TRACES_SAMPLER="always_off")
    assert {parent[-3:] for parent in parents[:4]} == {"-00"}
    assert collector.spans == []


def test_a_collector_that_is_away_keeps_no_process_from_its_end() -> None:
    assert len(told(SPANS, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1")) == 5


def test_a_collector_that_never_answers_keeps_no_process_from_its_end() -> None:
    end = "tracing._tracer._tracer.span_processor.shutdown()\nprint(time.monotonic() - began < 15)"
    timed = f"import time\nfrom anex.core import spans\nspans.END_S = 0.2\n{SPANS}began = time.monotonic()\n{end}"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        named = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert told(timed, OTEL_EXPORTER_OTLP_ENDPOINT=named, OTEL_EXPORTER_OTLP_TIMEOUT="600")[-1] == "True"


def test_a_web_process_that_is_told_to_end_tells_what_is_left() -> None:
    code = """
import os, signal, socket
import uvicorn
from anex import serve
from anex.core import tracing
tracing.begin("anex-web", region="eu")
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    os.kill(os.getpid(), signal.SIGTERM)
    await receive()
    with tracing.span("last"):
        pass
    await send({"type": "lifespan.shutdown.complete"})
config = uvicorn.Config(app, lifespan="on", log_level="critical")
serve.Server(config, drain_s=1).run([socket.create_server(("127.0.0.1", 0))])
"""
    with collecting() as collector:
        environment = os.environ | collector.environment | {"OTEL_BSP_SCHEDULE_DELAY": "60000"}
        ended = subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, env=environment, check=False, timeout=60)
        assert (ended.returncode, [span.name for span in collector.spans]) == (-signal.SIGTERM, ["last"])


def test_of_an_answer_of_the_collector_that_never_ends_nothing_is_read() -> None:
    with collecting(endless=True) as collector:
        told(SPANS, **collector.environment, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="1")
        assert len(collector.spans) == 5


def test_traces_that_cannot_be_told_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(RuntimeError, match="http/protobuf"):
        tracing.begin("x", region="world")
    monkeypatch.setitem(sys.modules, "anex.core.spans", None)
    with pytest.raises(RuntimeError, match=r"pip install -r requirements-traces\.txt"):
        tracing.begin("x", region="world")
    assert not tracing.is_on()


def test_without_a_collector_a_span_is_nothing() -> None:
    log_ids.begin(request="r")
    try:
        with tracing.span("x", facts={"a": 1}) as span:
            span.note({"b": 2})
            assert (span, tracing.traceparent(), tracing.headers()) == (tracing.NOTHING, "", {})
        assert log_ids.current() == {"request": "r"}
    finally:
        log_ids.end()
