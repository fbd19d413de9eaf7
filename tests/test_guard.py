"""How large and how slow a request may be, and what protects answers that no handler thought about."""

import asyncio
import json
from typing import Any

import pytest

from anex import connections
from anex.guard import BODY_S, MOST_BODY, MOST_HEAD, MOST_URL, Bounded, Guard

pytestmark = pytest.mark.asyncio


class Handler:
    """An application that answers 200 with what it was sent."""

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers, self.bodies = list(headers), []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.bodies.append((await receive()).get("body"))
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        await send({"type": "http.response.body", "body": b""})


async def ask(app: Any, path: str = "/dashboard", *, sent: tuple[dict, ...] = ({},), **scope: Any) -> dict[str, Any]:
    """The answer's messages in one; after what is `sent` the client keeps silent."""
    coming, answer = list(sent), {}

    async def receive() -> dict[str, Any]:
        if not coming:
            await asyncio.Event().wait()
        return {"type": "http.request", **coming.pop(0)}

    async def send(message: dict[str, Any]) -> None:
        answer.update(message)

    plain = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    async with asyncio.timeout(10):
        await app(plain | {"headers": []} | scope, receive, send)
    return answer | {"headers": dict(answer.get("headers", []))}


async def test_what_a_handler_says_itself_stands_and_the_rest_is_added():
    said = [(b"Content-Security-Policy", b"default-src 'self'"), (b"referrer-policy", b"no-referrer")]
    cached = (b"cache-control", b"public, max-age=60")
    assert (await ask(Guard(Handler(cached))))["headers"][b"cache-control"] == b"public, max-age=60"
    headers = (await ask(Guard(Handler(*said))))["headers"]
    assert headers[b"referrer-policy"] == b"no-referrer"
    assert b"content-security-policy" not in headers
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"no-store"
    assert b"strict-transport-security" not in headers
    assert b"default-src 'none'" in (await ask(Guard(Handler())))["headers"][b"content-security-policy"]


async def test_https_is_insisted_on_where_it_is_spoken(settings):
    settings.SECURE_HSTS_SECONDS = 60
    headers = (await ask(Guard(Handler())))["headers"]
    assert headers[b"strict-transport-security"] == b"max-age=60; includeSubDomains; preload"


@pytest.mark.parametrize(
    ("status", "scope"),
    [
        (414, {"query_string": b"a" * MOST_URL}),
        (414, {"raw_path": b"/" + b"a" * MOST_URL}),
        (431, {"headers": [(b"x", b"y" * MOST_HEAD)]}),
        (431, {"headers": [(b"x", b"y")] * 201}),
    ],
)
@pytest.mark.parametrize("path", ["/dashboard", "/batch/v1/jobs", "/v1/chat/completions"])
async def test_heads_beyond_measure_are_refused_in_the_form_of_the_surface(path, status, scope):
    handler = Handler()
    answer = await ask(Guard(handler), path, **scope)
    assert (answer["status"], handler.bodies) == (status, [])
    assert answer["headers"][b"x-content-type-options"] == b"nosniff"
    if path.startswith("/batch"):
        assert "too l" in json.loads(answer["body"])["detail"]
    elif path.startswith("/v1"):
        assert json.loads(answer["body"])["error"]["code"] == "invalid_request"


async def test_a_body_reaches_django_whole_or_not_at_all():
    handler = Handler()
    chunked = [(b"transfer-encoding", b"chunked")]
    pieces = ({"body": b"a", "more_body": True}, {"body": b"b"})
    assert (await ask(Bounded(handler), headers=chunked, sent=pieces))["status"] == 200
    assert handler.bodies == [b"ab"]
    endless = ({"body": b"a" * (MOST_BODY // 2 + 1), "more_body": True},) * 3
    refused = await ask(Bounded(handler), "/batch/v1/jobs", headers=chunked, sent=endless)
    assert (refused["status"], refused["headers"][b"connection"]) == (413, b"close")
    for told in (str(MOST_BODY + 1), "9" * 5000, "-1", "x"):
        assert (await ask(Bounded(handler), headers=[(b"content-length", told.encode())]))["status"] == 413
    assert len(handler.bodies) == 1


async def test_people_are_refused_with_a_page_that_loads_its_styles():
    headers = [(b"content-length", str(MOST_BODY + 1).encode()), (b"accept", b"text/html,*/*;q=0.8")]
    answer = await ask(Guard(Bounded(Handler())), headers=headers)
    assert (answer["status"], answer["headers"][b"content-type"]) == (413, b"text/html; charset=utf-8")
    assert b"at most 2,097,152 bytes are taken" in answer["body"]
    assert b"default-src 'self'" in answer["headers"][b"content-security-policy"]
    assert (await ask(Bounded(Handler()), "/v1/files", headers=headers))["headers"][
        b"content-type"
    ] == b"application/json"


async def test_a_client_that_keeps_its_body_to_itself_is_told_and_one_that_goes_is_not():
    handler = Handler()
    bounded = Bounded(handler, patience_s=0.05)
    headers = [(b"content-length", b"10")]
    assert (await ask(bounded, headers=headers, sent=({"body": b"a", "more_body": True},)))["status"] == 408
    assert await ask(bounded, headers=headers, sent=({"type": "http.disconnect"},)) == {"headers": {}}
    assert handler.bodies == []
    assert BODY_S >= 30


async def connected(send: bytes, *, then: bytes = b"", told: list[Any] | None = None) -> bytes:
    """What a server of ours answers to these bytes, until it closes; `told` is given the headers it was sent."""
    import uvicorn
    from uvicorn.server import ServerState

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body", False):
            pass
        if told is not None:
            told.extend(scope["headers"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, log_level="critical", loop="asyncio")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    made = await loop.create_server(lambda: connections.Connection(config, state, {}), "127.0.0.1", 0)
    async with made, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(*made.sockets[0].getsockname())
        writer.write(send)
        found = await reader.read(12) if then else b""
        try:
            writer.write(then)
            found += await reader.read()
        except ConnectionError:
            pass
        writer.close()
        return found


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def test_a_head_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    assert await connected(b"") == b""
    assert await connected(HEAD) == b""
    assert (await connected(HEAD + b"\r\n", then=HEAD)).startswith(b"HTTP/1.1 204")


async def test_a_head_that_grows_without_an_end_is_given_up():
    assert await connected(HEAD + b"X: " + b"y" * (2 * connections.MOST_HEAD)) == b""


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"


@pytest.mark.parametrize("more", [b"X: y\r\n" * 100_000, b"X: " + b"y" * 600_000, b""])
async def test_what_follows_a_body_is_no_header_and_has_an_end(more):
    told: list[Any] = []
    answer = await connected(CHUNKED + (more or b"Authorization: forged\r\n\r\n"), told=told)
    assert answer[:12] == (b"" if more else b"HTTP/1.1 204")
    assert b"authorization" not in dict(told)


AMBIGUOUS = [
    b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"Content-Length: +1\r\n\r\na",
    b"Content-Length: " + b"9" * 30 + b"\r\n\r\na",
    b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"X: a\n\n",
    b"X: a\r\n b\r\n\r\n",
    b"X\0: a\r\n\r\n",
    b"X: a\0b\r\n\r\n",
]


@pytest.mark.parametrize("rest", AMBIGUOUS)
async def test_a_request_that_two_servers_may_read_differently_is_refused(rest):
    assert (await connected(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + rest)).startswith(b"HTTP/1.1 400")
