"""What answers at the address may be no Anex server, or a hostile one: a sentence and never a traceback, no file beside
the one that was asked for, and the key goes nowhere else."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import shell

KEY = "sk-" + "A" * 52
JOB = "00000000-0000-4000-8000-000000000000"
Answer = tuple[int, dict[str, str], bytes]
Serve = Callable[[Callable[[str], Answer]], str]


class Server(ThreadingHTTPServer):
    answer: Callable[[str], Answer]
    seen: list[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append(self.headers.get("Authorization"))
        status, headers, body = self.server.answer(self.path)
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value) if value else None
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    made: list[Server] = []
    yield made
    for server in made:
        server.shutdown()
        server.server_close()


@pytest.fixture
def serve(servers: list[Server]) -> Serve:
    def begin(answer: Callable[[str], Answer]) -> str:
        server = Server(("127.0.0.1", 0), Handler)
        server.answer, server.seen = answer, []
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    return begin


@pytest.fixture
def asking(tmp_path: Path) -> Callable[..., str]:
    """A failing command's words on the screen."""

    def ask(url: str, *arguments: str, status: int = 1) -> str:
        terminal = shell(tmp_path / secrets.token_hex(4), url)
        told = terminal(*arguments, status=status, ANEX_API_KEY=KEY).stderr
        assert "Traceback" not in told
        assert KEY not in told
        return told

    return ask


def test_a_redirect_is_told_and_not_followed(serve: Serve, servers: list[Server], asking: Callable[..., str]) -> None:
    elsewhere = serve(lambda path: (200, {}, b"{}"))
    url = serve(lambda path: (308, {"Location": f"{elsewhere}{path}"}, b""))
    for command in (["usage"], ["chat", "-m", "m", "hello"], ["approve", JOB, "--yes"]):
        assert f"sends on to {elsewhere}" in asking(url, *command)
    assert servers[0].seen == []


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"[]", b'"\xff'])
def test_a_server_of_another_kind_is_told(serve: Serve, asking: Callable[..., str], body: bytes) -> None:
    assert "as an Anex server does" in asking(serve(lambda path: (200, {}, body)), "usage")


def test_an_address_that_is_none_is_told(asking: Callable[..., str]) -> None:
    assert "address" in asking("http://127.0.0.1:port", "usage", status=2)


def test_a_stream_of_nonsense_is_an_answer_that_broke_off(serve: Serve, asking: Callable[..., str]) -> None:
    assert "broke off" in asking(serve(lambda path: (200, {}, b"data: {\n\n")), "chat", "-m", "m", "hello", status=6)


def test_no_file_is_written_where_the_server_says(serve: Serve, asking: Callable[..., str], tmp_path: Path) -> None:
    link = {"id": "../outside", "result_url": "http://127.0.0.1:9/a.jsonl", "row_count": 1, "partial": False}
    url = serve(lambda path: (200, {}, json.dumps(link | {"status": "done"}).encode()))
    assert "by an id" in asking(url, "download", JOB)
    assert not list(tmp_path.rglob("*outside*"))


def test_a_file_of_unknown_length_is_not_taken_for_whole(serve: Serve, asking: Callable[..., str]) -> None:
    store = serve(lambda path: (200, {"Content-Length": ""}, b"{}\n"))
    link = {"id": JOB, "result_url": f"{store}/a.jsonl", "row_count": 1, "partial": False, "status": "done"}
    assert "how long" in asking(serve(lambda path: (200, {}, json.dumps(link).encode())), "download", JOB)
