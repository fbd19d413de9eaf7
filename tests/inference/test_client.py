"""What the client makes of each way a model server can answer or fail."""

import json
import socket
import socketserver
import struct
import threading
from contextlib import contextmanager

import orjson
import pytest

from anex.core.usage import Usage
from anex.supervisor.valkey import free_port
from inference.backends import connections
from inference.backends.answers import read_answer
from inference.backends.client import Client
from inference.backends.faults import ServerFailed, ServerLost, Throttled
from inference.backends.registry import Server
from tests.inference.scripted_server import scripted_server


def server_at(port, **changes):
    fields = {"api_key": "", "concurrency": 8, "reuse_connections": True, **changes}
    base_url = f"http://127.0.0.1:{port}/v1"
    return Server(id=1, model_id="m", region="world", base_url=base_url, served_name="m", **fields)


@contextmanager
def answering(*blocks, reset=False, hold=False):
    """A server that reads one request per connection and answers these raw bytes; yields (port, requests).

    With `hold` a connection is kept open, silent, until the test is over.
    """
    requests = []
    over = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.rfile.readline()
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            requests.append((head, self.rfile.read(length)))
            for block in blocks:
                self.wfile.write(block)
            if hold:
                over.wait(30)
            if reset:
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.request.close()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield listening.server_address[1], requests
        finally:
            over.set()
            listening.shutdown()
            thread.join()


async def ask(port, *, timeout_s=5.0, body=b"{}", **server):
    async with Client() as client:
        return await client.complete(server_at(port, **server), "/chat/completions", body, timeout_s=timeout_s)


def http(status, body=b"{}", *headers):
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], None),
        (["Retry-After: 7"], 7.0),
        (["Retry-After: 7", "retry-after-ms: 250"], 0.25),
        (["Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"], 0.0),
        (["Retry-After: soon"], None),
        (["Retry-After: -3"], None),
        (["Retry-After: nan"], None),
        (["Retry-After: Mon, 01 Jan 2024 99999999999999999999:00:00 GMT"], None),
    ],
)
async def test_busy_server_throttles(status, headers, expected):
    with answering(http(status, b"busy", *headers)) as (port, _), pytest.raises(Throttled) as caught:
        await ask(port)
    assert caught.value.retry_after_s == expected


@pytest.mark.parametrize("status", [301, 500, 501, 502, 504, 599])
async def test_failing_status_is_a_failed_server(status):
    with answering(http(status, b"{}", "Location: /elsewhere")) as (port, requests), pytest.raises(ServerFailed):
        await ask(port)
    assert len(requests) == 1


@pytest.mark.parametrize(
    "body", [b"", b"not json", b'{"choices": [', b"[1]", b"null", b'"text"', b"[" * 100_000, b'{"a": "\\ud800"}']
)
async def test_answer_that_is_no_json_object_is_a_failed_server(body):
    with answering(http(200, body)) as (port, _), pytest.raises(ServerFailed):
        await ask(port)


WHOLE = orjson.dumps({"choices": [{"message": {"content": "x" * 2000}, "finish_reason": "stop"}]})


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(WHOLE),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(WHOLE),
    ],
    ids=["length", "chunked"],
)
async def test_answer_that_breaks_off_is_a_server_lost_with_the_request_in_hand(head, reset):
    with answering(head + WHOLE[:1000], reset=reset) as (port, _), pytest.raises(ServerLost) as caught:
        await ask(port)
    assert caught.value.sent


async def test_answer_without_a_length_that_breaks_off_is_a_failed_server():
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    with answering(head + WHOLE[:1000]) as (port, _), pytest.raises(ServerFailed):
        await ask(port)


@pytest.mark.parametrize("reset", [False, True])
async def test_connection_that_ends_unanswered_is_a_server_lost_with_the_request_in_hand(reset):
    with answering(reset=reset) as (port, _), pytest.raises(ServerLost) as caught:
        await ask(port)
    assert caught.value.sent


async def test_nobody_listening_is_a_lost_server_that_was_sent_nothing():
    with pytest.raises(ServerLost) as caught:
        await ask(free_port())
    assert not caught.value.sent


async def test_connection_that_is_not_accepted_in_time_is_a_lost_server(monkeypatch):
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 0.2)
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        with pytest.raises(ServerLost) as caught:
            await ask(full.getsockname()[1])
    assert not caught.value.sent


async def test_unknown_host_is_a_lost_server():
    async with Client() as client:
        server = Server(1, "m", "world", "http://no-such-host.invalid/v1", "m", "", 1, True)
        with pytest.raises(ServerLost):
            await client.complete(server, "/chat/completions", b"{}", timeout_s=10)


@pytest.mark.parametrize("blocks", [(), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",)], ids=["silent", "stalled"])
async def test_slow_server_is_a_failed_server(blocks):
    with answering(*blocks, hold=True) as (port, _), pytest.raises(ServerFailed, match=r"0\.2 s"):
        await ask(port, timeout_s=0.2)


async def test_answer_that_is_not_http_is_a_failed_server():
    with answering(b"220 mail.example.com ESMTP\r\n") as (port, _), pytest.raises(ServerFailed):
        await ask(port)


async def test_too_large_answer_is_a_failed_server(monkeypatch):
    monkeypatch.setattr(connections, "MOST_ANSWER_BYTES", 1000)
    with answering(http(200, WHOLE)) as (port, _), pytest.raises(ServerFailed, match="larger"):
        await ask(port)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_refusal_is_an_answer(status):
    refusal = {"error": {"message": "no", "code": status}}
    with answering(http(status, orjson.dumps(refusal))) as (port, _):
        answer = await ask(port)
    assert (answer.status, answer.body, answer.usage) == (status, refusal, None)


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_server_that_does_not_know_key_model_or_route_has_failed_whatever_the_row(status):
    refusal = orjson.dumps({"error": {"message": "Invalid API Key"}})
    with answering(http(status, refusal)) as (port, _), pytest.raises(ServerFailed, match=f"answered {status}"):
        await ask(port)


async def test_refusal_in_plain_text_becomes_an_error_object():
    with answering(http(413, b"too\x00 large")) as (port, _):
        answer = await ask(port)
    assert answer.body["error"]["message"] == "too large"


async def test_large_answer_is_read_whole():
    body = {"choices": [{"message": {"content": "é" * 1_500_000}, "finish_reason": "stop"}]}
    with answering(http(200, orjson.dumps(body))) as (port, _):
        answer = await ask(port)
    assert answer.body == body


async def test_unknown_finish_reason_is_passed_on():
    body = {"choices": [{"finish_reason": "moon_phase"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    with answering(http(200, orjson.dumps(body))) as (port, _):
        answer = await ask(port)
    assert (answer.finish_reason, answer.usage) == ("moon_phase", Usage(3, 0, 2))


async def test_not_a_number_in_an_answer_becomes_null():
    body = json.dumps({"choices": [{"finish_reason": "stop", "score": float("nan")}]}).encode()
    with answering(http(200, body)) as (port, _):
        answer = await ask(port)
    assert answer.body["choices"][0]["score"] is None


async def test_key_and_body_are_sent_to_the_path():
    with answering(http(200)) as (port, requests):
        await ask(port, api_key="secret-key")
    head, body = requests[0]
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert b"Authorization: Bearer secret-key\r\n" in head
    assert body == b"{}"


async def test_large_body_is_sent_in_pieces_with_its_length():
    body = b"{" + b" " * 3_000_000 + b"}"
    with answering(http(200, WHOLE)) as (port, requests):
        assert (await ask(port, body=body)).status == 200
    ((head, received),) = requests
    assert received == body
    assert head.lower().count(b"content-type:") == 1


@pytest.mark.parametrize("reuse", [True, False])
async def test_connection_is_closed_where_the_server_cannot_reuse_it(reuse):
    with answering(http(200)) as (port, requests):
        await ask(port, reuse_connections=reuse)
    assert (b"connection: close" in requests[0][0].lower()) is not reuse


async def test_key_is_in_no_text_of_the_server():
    assert "secret-key" not in repr(server_at(1, api_key="secret-key"))


@pytest.fixture(scope="module")
def engine():
    with scripted_server() as running:
        yield running


@pytest.mark.parametrize(
    ("kind", "usage", "clamped"),
    [
        ("exact", Usage(13, 0, 3), False),
        ("absent", None, False),
        ("null", None, False),
        ("zero", Usage(0, 0, 0), False),
        ("negative", None, True),
        ("nan", None, True),
        ("text", None, True),
        ("absurd", Usage(50, 0, 4), True),
    ],
)
async def test_usage_of_an_answer_is_what_can_be_believed(engine, kind, usage, clamped):
    body = orjson.dumps({"messages": [{"role": "user", "content": f"hi [[usage {kind}]]"}], "max_tokens": 3})
    bounds = {"input_bound": 50, "output_bound": 4}
    async with Client() as client:
        answer = await client.complete(engine.server(), "/chat/completions", body, timeout_s=10, **bounds)
    assert (answer.usage, answer.clamped) == (usage, clamped)


@pytest.mark.parametrize("levels", [250, 300, 1000])
@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_too_deep_to_be_written_again_is_none(status, levels):
    raw = b'{"error":' + b"[" * levels + b"]" * levels + b"}"
    if status == 200:
        with pytest.raises(ServerFailed):
            read_answer(status, raw)
    else:
        assert isinstance(read_answer(status, raw).body["error"]["message"], str)
