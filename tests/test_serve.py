"""A web process that is told to end: what is under way is finished, free connections are closed in an orderly way."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import uvicorn

from anex import connections, serve
from anex.connections import Connection, Page
from tests.realtime.served import until

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
UPGRADE = (
    b"GET /live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
SLOW = REQUEST.replace(b"GET /", b"GET /slow")


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Two bytes; on /slow the second comes once the process drains, on /huge 100 MiB. A socket is told nothing."""
    if scope["type"] == "websocket":
        while scope["path"] == "/late" and not Running.let_go.is_set():
            await asyncio.sleep(0.01)
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
        return
    Running.states.append(scope["state"])
    if scope["path"] == "/huge":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": bytes(1024 * 1024), "more_body": True})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"o", "more_body": True})
    if scope["path"] == "/slow":
        while not Running.let_go.is_set():
            await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": b"k"})


class Running:
    let_go = threading.Event()
    states: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, drain_s: float, listening: socket.socket | None = None) -> None:
        Running.let_go.clear()
        Running.states.clear()
        self.clients: list[socket.socket] = []
        self.listening = listening or socket.create_server(("127.0.0.1", 0))
        self.address = self.listening.getsockname()
        config = uvicorn.Config(
            answer, http=Connection, ws=Page, lifespan="off", log_level="critical", timeout_graceful_shutdown=0
        )
        self.server = serve.Server(config, drain_s=drain_s)
        self.thread = threading.Thread(target=self.server.run, args=([self.listening],), daemon=True)
        self.thread.start()
        until(lambda: self.server.started)

    def connect(self) -> socket.socket:
        self.clients.append(socket.create_connection(self.address, timeout=10))
        return self.clients[-1]

    def end(self) -> None:
        """Tell it to end, and wait until it accepts nothing more."""
        self.server.should_exit = True
        until(lambda: self.listening.fileno() == -1)

    def join(self) -> None:
        """Until its thread has ended."""
        self.server.should_exit = True
        self.thread.join(10)
        assert not self.thread.is_alive()

    def close(self) -> None:
        """It and its clients."""
        self.join()
        for client in self.clients:
            client.close()


def test_systemd_is_told_when_requests_are_answered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(10)
        Running(10).close()
        assert systemd.recv(100) == b"READY=1"


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """Free connections are closed when the test says so: on a busy machine any time is too short."""
    monkeypatch.setattr(serve, "LINGER_S", 60)
    made = Running(10)
    yield made
    Running.let_go.set()
    close_free_connections()
    made.close()


def close_free_connections() -> None:
    serve.LINGER_S = 0


def whole(connection: socket.socket) -> bytes:
    """One answer."""
    read = b""
    while not read.endswith(b"ok"):
        block = connection.recv(4096)
        assert block, read
        read += block
    return read


def test_process_that_drains_says_so_to_requests_that_still_come(running: Running) -> None:
    kept = running.connect()
    until(lambda: len(running.server.server_state.connections) == 1)
    running.end()
    kept.sendall(REQUEST)
    whole(kept)
    assert Running.states == [{"draining": True}]


def test_kept_connection_is_answered_once_more_and_told_to_close(running: Running) -> None:
    kept, unused = running.connect(), running.connect()
    for connection in (kept, unused):
        connection.sendall(REQUEST)
        assert b"connection: close" not in whole(connection)
    running.end()
    kept.sendall(REQUEST)
    assert b"connection: close\r\n" in whole(kept)
    assert kept.recv(1) == b""
    close_free_connections()
    assert unused.recv(1) == b""


def test_connection_without_a_request_yet_is_served(running: Running) -> None:
    fresh = running.connect()
    until(lambda: len(running.server.server_state.connections) == 1)
    running.end()
    fresh.sendall(REQUEST)
    assert b"connection: close\r\n" in whole(fresh)


def test_answer_under_way_is_finished_and_its_connection_serves_another(running: Running) -> None:
    busy = running.connect()
    busy.sendall(SLOW)
    until(lambda: len(running.server.server_state.tasks) == 1)
    running.end()
    Running.let_go.set()
    whole(busy)
    busy.sendall(REQUEST)
    assert b"connection: close\r\n" in whole(busy)


def test_request_whose_head_comes_slowly_is_waited_for(running: Running) -> None:
    slow, unused = running.connect(), running.connect()
    slow.sendall(REQUEST[:10])
    connections = running.server.server_state.connections
    until(lambda: len(connections) == 2 and any(each._is_head_begun for each in connections))
    running.end()
    close_free_connections()
    assert unused.recv(1) == b""
    slow.sendall(REQUEST[10:])
    assert b"connection: close\r\n" in whole(slow)


def test_request_that_came_while_the_process_was_held_up_is_served(running: Running) -> None:
    kept = running.connect()
    kept.sendall(REQUEST)
    whole(kept)
    (connection,) = running.server.server_state.connections
    running.end()
    held, sent, (near, far) = threading.Event(), threading.Event(), socket.socketpair()
    with near, far:
        # Longer than it looks at its connections.
        hold_up = lambda: (near.recv(1), held.set(), sent.wait(10), time.sleep(0.1))  # noqa: E731
        connection.loop.call_soon_threadsafe(connection.loop.add_reader, near, hold_up)
        far.send(b"x")
        assert held.wait(10)
        close_free_connections()
        kept.sendall(REQUEST)
        sent.set()
        assert b"connection: close\r\n" in whole(kept)


def test_connections_that_wait_at_a_lone_process_are_served_by_the_next(running: Running) -> None:
    with running.listening.dup() as inherited:
        running.end()
        waiting = running.connect()
        waiting.sendall(REQUEST)
        running.join()
        following = Running(10, inherited.dup())
        assert whole(waiting).endswith(b"ok")
        following.close()


def test_sockets_of_pages_are_closed_at_once_saying_that_the_process_restarts(running: Running) -> None:
    page = running.connect()
    page.sendall(UPGRADE)
    assert page.recv(4096).startswith(b"HTTP/1.1 101")
    running.end()
    assert page.recv(4096) == b"\x88\x02" + (1012).to_bytes(2)


def test_page_that_asks_while_the_process_ends_is_let_in_and_told(running: Running) -> None:
    page, unused = running.connect(), running.connect()
    until(lambda: len(running.server.server_state.connections) == 2)
    running.end()
    page.sendall(UPGRADE.replace(b"/live", b"/late"))
    until(lambda: len(running.server.server_state.tasks) == 1)
    close_free_connections()
    assert unused.recv(1) == b""
    page.setblocking(False)
    with pytest.raises(BlockingIOError):
        page.recv(1)
    page.settimeout(10)
    Running.let_go.set()
    head, _, told = page.recv(4096).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101")
    assert b"close" not in head.lower()
    assert (told or page.recv(4096)) == b"\x88\x02" + (1012).to_bytes(2)


def test_who_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch, running: Running) -> None:
    monkeypatch.setattr(connections, "STALL_S", 0.2)
    deaf = running.connect()
    deaf.sendall(REQUEST.replace(b"GET /", b"GET /huge"))
    until(lambda: Running.states)
    until(lambda: not running.server.server_state.connections)


def test_answer_that_takes_too_long_is_given_up() -> None:
    running = Running(0.2)
    busy = running.connect()
    busy.sendall(SLOW)
    until(lambda: len(running.server.server_state.tasks) == 1)
    running.end()
    running.close()
    assert not Running.let_go.is_set()
