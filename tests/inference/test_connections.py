"""Connections to model servers: kept, closed and told apart from what is no answer."""

import asyncio
import dataclasses
import gzip
import zlib
from contextlib import asynccontextmanager, suppress

import pytest

from anex.core import clock
from inference.backends import connections
from inference.backends.connections import Connections
from inference.backends.faults import ServerFailed, ServerLost
from tests.https import make_authority
from tests.inference.test_client import server_at

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def asking(*answers, waits=True, tls=None):
    """A server that gives these answers in turn, on as many connections as there come; yields (ask, connections seen).

    Without `waits` it answers at the first byte and reads no further.
    """
    left, seen = iter(answers), []

    async def serve(reader, writer):
        seen.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n") if waits else await reader.read(1)
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) if waits else 0
                await reader.readexactly(length)
                writer.write(next(left))
                if not waits:
                    await asyncio.Event().wait()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as listening:
        port, pool = listening.sockets[0].getsockname()[1], Connections()

        async def ask(body=b"{}", **changes):
            server = server_at(port, **changes)
            if tls:
                server = dataclasses.replace(server, base_url=server.base_url.replace("http:", "https:"))
            response = await pool.post(server, "/chat/completions", body, timeout_s=5.0)
            return response.status, response.read()

        yield ask, seen
        pool.close()
        for writer in seen:
            writer.transport.abort()


async def test_a_connection_serves_one_request_after_the_other():
    async with asking(*[OK] * 20) as (ask, seen):
        for _ in range(10):
            assert await ask() == (200, b"{}")
        assert len(seen) == 1
        assert await asyncio.gather(ask(), ask(), ask()) == [(200, b"{}")] * 3
        assert len(seen) == 3


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{secret", id="another answer"),
        pytest.param(OK + b"HTTP/1.1 200 OK\r\n", id="half an answer"),
        pytest.param(OK + b"\x00junk", id="junk"),
        pytest.param(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), id="a good-bye"),
        pytest.param(OK.replace(b"/1.1", b"/1.0"), id="an old protocol"),
    ],
)
async def test_a_connection_that_brought_more_than_an_answer_is_not_used_again(answer):
    async with asking(answer, OK) as (ask, seen):
        assert await ask() == (200, b"{}")
        assert await ask() == (200, b"{}")
        assert len(seen) == 2


async def test_a_connection_that_was_idle_too_long_is_not_used_again(monkeypatch):
    async with asking(OK, OK) as (ask, seen):
        await ask()
        later = clock.monotonic() + connections.KEEP_ALIVE_S
        monkeypatch.setattr(clock, "monotonic", lambda: later)
        await ask()
        assert len(seen) == 2


async def test_connections_that_wait_are_closed_in_time(monkeypatch):
    monkeypatch.setattr(connections, "KEEP_ALIVE_S", 0.01)
    async with asking(OK) as (ask, seen):
        await ask()
        async with asyncio.timeout(5):
            await seen[0].wait_closed()


async def test_an_announcement_is_not_the_answer():
    async with asking(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, OK) as (ask, seen):
        assert [await ask(), await ask()] == [(200, b"{}")] * 2
        assert len(seen) == 1


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_an_answer_that_was_compressed_unasked_is_unpacked_within_bounds(pack, monkeypatch):
    packed = pack(b"x" * 100_000)
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    async with asking(answer, answer) as (ask, _):
        assert await ask() == (200, b"x" * 100_000)
        monkeypatch.setattr(connections, "MOST_ANSWER_BYTES", 50_000)
        with pytest.raises(ServerFailed, match="larger"):
            await ask()


async def test_a_refusal_in_the_middle_of_a_long_body_is_the_answer():
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}"
    async with asking(refusal, refusal, waits=False) as (ask, seen):
        for _ in range(2):
            assert await ask(b"x" * 50_000_000) == (413, b"{}")
        assert len(seen) == 2


async def test_a_request_that_is_given_up_ends_its_connection():
    async with asking(b"HTTP/1.1 200 OK\r\n") as (ask, seen):
        task = asyncio.create_task(ask())
        while not seen:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with suppress(ConnectionResetError):
            async with asyncio.timeout(5):
                await seen[0].wait_closed()


@pytest.mark.parametrize("key", ["a\r\nX-Injected: 1", "schlüssel"])
async def test_a_key_that_is_no_header_is_not_sent(key):
    async with asking(OK) as (ask, seen):
        with pytest.raises(ServerFailed, match="key"):
            await ask(api_key=key)
        assert not seen


async def test_a_server_is_asked_over_tls_where_its_certificate_is_good(tmp_path, monkeypatch):
    authority = make_authority(tmp_path)
    trust = authority.trust()
    trust.check_hostname = False
    async with asking(OK, OK, OK, tls=authority.server_context()) as (ask, seen):
        with pytest.raises(ServerLost) as caught:
            await ask()
        assert not caught.value.sent
        monkeypatch.setattr(connections, "_trusted", lambda: trust)
        assert await ask() == (200, b"{}")
        assert await ask(b"x" * 3_000_000) == (200, b"{}")
        assert len(seen) == 1
