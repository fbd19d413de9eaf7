"""What a request leaves in the log: every line of it tells its ids, and none tells a secret or what was asked."""

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from anex.core import log_ids
from anex.core.logging import JsonFormatter, RedactingFormatter
from anex.core.threads import Threads
from anex.observed import Observed
from tests.factories import make_key, make_user
from tests.web import Web

log = logging.getLogger("tests.observed")


class Lines(logging.Handler):
    """Keeps what is written, as production formats it."""

    def __init__(self) -> None:
        super().__init__()
        self.formatter = JsonFormatter()
        self.written: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(json.loads(self.format(record)))


@pytest.fixture
def lines() -> Iterator[Lines]:
    kept = Lines()
    logging.getLogger().addHandler(kept)
    logging.getLogger("anex.requests").setLevel(logging.INFO)
    yield kept
    logging.getLogger().removeHandler(kept)


async def _ask(app: Any, path: str) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"q=what+was+asked", "headers": []}
    await Observed(app)(scope, None, send)  # type: ignore[arg-type]
    return {key: value for event in sent for key, value in event.items()}


def _in_thread(organization: str) -> None:
    log_ids.add(organization=organization)
    log.warning("in a thread")


async def _app(scope: Any, receive: Any, send: Any) -> None:
    name = scope["path"].strip("/")
    await asyncio.sleep(0)
    await Threads(1, "test").run(_in_thread, name)
    log.warning("in a request")
    await asyncio.create_task(asyncio.to_thread(log.warning, "in a task"))
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.asyncio
async def test_every_line_of_a_request_tells_its_id_and_its_organization(lines: Lines) -> None:
    answers = await asyncio.gather(*(_ask(_app, f"/{name}") for name in "abc"))
    for name, answer in zip("abc", answers, strict=True):
        told = dict(answer["headers"])[b"x-request-id"].decode()
        own = [line for line in lines.written if line["request"] == told]
        assert {line["message"] for line in own[:-1]} == {"in a thread", "in a request", "in a task"}
        assert {line["organization"] for line in own} == {name}
        assert own[-1].items() >= {"method": "GET", "path": f"/{name}", "status": 418}.items()
    assert len(lines.written) == 12
    assert "asked" not in json.dumps(lines.written)
    assert log_ids.current() == {}


@pytest.mark.asyncio
async def test_a_request_that_fails_leaves_a_line_too(lines: Lines) -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await _ask(fails, "/x")
    assert lines.written[-1]["status"] == 500


@pytest.mark.django_db
def test_a_request_of_a_key_tells_its_organization_and_the_job_of_its_path() -> None:
    key, job = make_key(), "6b0e1d0a-3c55-4d0a-9a0e-5d1f8f0f3f11"
    log_ids.begin(request="r")
    try:
        answer = Client().get(f"/batch/v1/jobs/{job}", headers={"Authorization": key.header})
        assert answer["x-request-id"] == "r"
        assert log_ids.current() == {"request": "r", "organization": str(key.caller.organization_id), "job": job}
    finally:
        log_ids.end()


@pytest.mark.django_db(transaction=True)
def test_no_line_of_a_web_process_holds_a_query(tmp_path: Path) -> None:
    person = Client()
    person.force_login(make_user("ada"))
    cookie = f"anex_session={person.cookies['anex_session'].value}"
    shake = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    shake["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    web = Web(tmp_path / "log")
    try:
        web.wait()
        assert web.get("/pricing?q=zebra")[0] == 200
        with socket.create_connection(("127.0.0.1", web.port), timeout=20) as page:
            told = {"Host": f"127.0.0.1:{web.port}", "Origin": web.url, "Cookie": cookie, **shake}
            head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
            page.sendall(f"GET /live/jobs?job={uuid4()}&q=zebra HTTP/1.1\r\n{head}\r\n".encode())
            told_back = page.recv(200)
    finally:
        web.stop()
    log = web.log.read_text()
    assert "GET /pricing 200" in log
    assert "zebra" not in log, told_back
    assert log.count("/pricing") == 1


def test_a_line_tells_where_an_exception_came_from_and_no_text_that_may_be_a_customer_s() -> None:
    sent = "zeb" + "ra"
    try:
        try:
            int(sent)
        except ValueError as cause:
            error = ExceptionGroup(sent, [KeyError(sent), OSError(2, "No such file", "rows/1")])
            error.add_note(sent)
            raise error from cause
    except ExceptionGroup as caught:
        thrown = (type(caught), caught, caught.__traceback__)
    loop = f"Task exception was never retrieved\nfuture: <Task exception=KeyError('{sent}')>"
    for name, text in (("jobs.run", "row 1 failed"), ("asyncio", loop)):
        record = logging.LogRecord(name, logging.ERROR, "x.py", 1, text, (), thrown)
        told = json.loads(JsonFormatter().format(record))
        assert sent not in json.dumps(told)
        assert {"KeyError: …", "ValueError: …"} <= {part.strip(" |") for part in told["exception"].splitlines()}
        assert "No such file" in told["exception"]
        assert "test_observed.py" in told["exception"]
        assert told["message"] in ("row 1 failed", "Task exception was never retrieved")


def test_no_line_holds_a_secret_or_a_row_of_the_database_or_begins_another() -> None:
    secret = "sk-" + "a" * 12 + "b" * 40
    told = f"{secret}\nDETAIL:  Failing row contains (what was asked)."
    try:
        raise ValueError(told)
    except ValueError as error:
        thrown = (ValueError, error, error.__traceback__)
    text = "GET /\n2026-01-01 ERROR forged\x1b[31m %s"
    for formatter in (JsonFormatter(), RedactingFormatter("%(levelname)s %(message)s")):
        record = logging.LogRecord("x", logging.ERROR, "x.py", 1, text, (secret,), thrown)
        record.facts = {"path": f"/{secret}"}
        line = formatter.format(record)
        assert "b" * 40 not in line
        assert "what was asked" not in line
        assert "\x1b" not in line
        assert not any(part.startswith("2026") for part in line.splitlines())
