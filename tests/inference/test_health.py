"""How a model server is found to be there or not, whatever kind it is."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from anex.supervisor.valkey import free_port
from inference.backends import health
from inference.backends.client import Client
from inference.backends.registry import Server
from tests.realtime.raw_server import raw_server


def server(port: int, path: str = "/v1", key: str = "") -> Server:
    return Server(1, "m", "world", f"http://127.0.0.1:{port}{path}", "m", key, 4, True)


@asynccontextmanager
async def running(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[int]:
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield site._server.sockets[0].getsockname()[1]
    await runner.cleanup()


async def look(at: Server, patience_s: float = 3.0) -> health.Health:
    async with Client() as client:
        return await health.look(client, at, patience_s=patience_s)


@pytest.mark.parametrize(
    ("by_path", "found"),
    [
        ({"/health": 200}, "well"),
        ({"/health": 204}, "well"),
        ({"/health": 503, "/v1/models": 200}, "ill"),
        ({"/health": 500}, "ill"),
        ({"/v1/models": 200}, "well"),
        ({"/health": 401, "/v1/models": 401}, "well"),
        ({"/health": 405, "/v1/models": 503}, "ill"),
        ({}, "well"),
    ],
)
async def test_server_is_judged_by_its_health_or_its_list_of_models(by_path: dict[str, int], found: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=by_path.get(request.path, 404))

    async with running(answer) as port:
        assert await look(server(port)) == found


async def test_address_may_be_a_path_and_the_key_is_sent() -> None:
    asked: list[tuple[str, str | None]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers.get("Authorization")))
        return web.Response()

    async with running(answer) as port:
        assert await look(server(port, "/models/a/v1", "secret")) == "well"
    assert asked == [("/models/a/health", "Bearer secret")]


async def test_server_that_is_gone_or_speaks_no_http_is_ill() -> None:
    assert await look(server(free_port())) == "ill"
    with raw_server([b"SSH-2.0\r\n"]) as port:
        assert await look(server(port)) == "ill"


async def test_server_that_does_not_answer_in_time_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert await look(server(listening.getsockname()[1]), patience_s=0.05) == "silent"
