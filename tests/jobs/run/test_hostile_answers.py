"""A model server that answers nonsense: every row ends with a sentence or an answer, the job ends, the bill holds."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from accounts.models import Organization
from anex.core.actors import system
from billing.selectors import balances
from inference.backends import registry, retries
from jobs.models import Part
from jobs.run.pump import Pump
from tests.jobs.run.driver import approve, chat_line, submit
from tests.jobs.run.test_pump import result, wait_for

pytestmark = pytest.mark.django_db(transaction=True)
DEEP = b"[" * 300 + b"]" * 300


def message(content: bytes, usage: bytes = b'{"prompt_tokens":5,"completion_tokens":5}') -> bytes:
    return b'{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%b}}],"usage":%b}' % (
        content,
        usage,
    )


UNUSABLE = {
    "html": b"<html><script>alert(1)</script></html>",
    "array": b"[]",
    "empty": b"",
    "nothing": b"{}",
    "no-choice": b'{"choices":[]}',
    "choice-of-text": b'{"choices":["x"]}',
    "deep": b'{"choices":[{"message":{"content":"x"}}],"x":%b}' % DEEP,
    "half-pair": message(b'"\\ud800"'),
    "broken-utf8": message(b'"\xff"'),
}
USABLE = {
    "nul": message(b'"a\\u0000b"'),
    "line-ends": message(b'"a\\n\\r\\t\\u2028\\u0085b"'),
    "list": message(b'[{"type":"text","text":"x"}]'),
    "null": message(b"null"),
    "number": message(b"7"),
    "nan": message(b'"x"', b'{"prompt_tokens":NaN,"completion_tokens":Infinity}'),
    "huge": message(b'"x"', b'{"prompt_tokens":1e308,"completion_tokens":%b}' % (b"9" * 300)),
    "negative": message(b'"x"', b'{"prompt_tokens":-1,"completion_tokens":-9223372036854775809}'),
    "cached": message(
        b'"x"', b'{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":1e300}}'
    ),
    "large": message(b'"' + b"x" * 5_000_000 + b'"'),
    "html-text": message(b'"<script>alert(1)</script>"'),
}
ANSWERS = UNUSABLE | USABLE


class Liar(BaseHTTPRequestHandler):
    """Answers the body that the prompt names."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = ANSWERS[asked["messages"][0]["content"]]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silence."""


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(retries, "wait_before_retry", lambda error, *, attempt, **_: None if attempt > 1 else 0.01)
    with ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        registry.configure(
            model_id="scripted",
            base_url=f"http://127.0.0.1:{server.server_port}/v1",
            served_name="scripted",
            actor=system("test"),
        )
        yield
        server.shutdown()
        thread.join()


def test_nonsense_costs_the_row_it_answers_and_nothing_else(acme: Organization, liar: None) -> None:
    before = balances.get(acme.pk).balance_nano
    pump = Pump(region="world", lease_seconds=5)
    pump.start()
    try:
        lines = "\n".join(chat_line(custom_id=f"{name}\n\t\r", content=name) for name in ANSWERS)
        job = wait_for(submit(acme, lines.encode()), "cost_ready", "failed")
        approve(job)
        job = wait_for(job, "done", "failed")
    finally:
        pump.stop()
    lines_out = result(job)
    assert [line["custom_id"] for line in lines_out] == [f"{name}\n\t\r" for name in ANSWERS]
    failed = {line["custom_id"].strip() for line in lines_out if line["error"]}
    assert (job.status, failed) == ("done", set(UNUSABLE))
    assert (job.success_rows, job.error_rows) == (len(USABLE), len(UNUSABLE))
    assert 0 < job.charge_cents <= job.quote_cents
    balance = balances.get(acme.pk)
    assert (before - balance.balance_nano, balance.held_nano) == (job.charge_cents * 10_000_000, 0)
    assert all(part.output_tokens <= 16 * part.success_rows for part in Part.objects.all())
