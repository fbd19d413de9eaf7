"""How media is fetched for a row: within bounds, again where that may help, and never once the worker stops."""

import gzip
import itertools
import socket
from typing import Any

import pytest

from anex.core import safe_http
from inference.catalogue import get
from inference.media import fetching
from inference.media.probe import Patience
from inference.requests.rows import RowError, RowOptions, parse
from jobs.run.context import Context
from jobs.run.fetching import Prepared, prepare
from jobs.storage import store
from tests import https
from tests.inference.media import clips
from tests.inference.media.clips import by_url
from tests.jobs.run.driver import chat_line

PNG = clips.picture("png")


@pytest.fixture
def host(https_server: https.Server, https_rules: Any, monkeypatch: pytest.MonkeyPatch) -> https.Server:
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    monkeypatch.setattr(fetching, "RETRY_WAITS", (0.01, 0.01))
    https_server.answer("/picture.png", 200, PNG)
    return https_server


def context() -> Context:
    model = get("scripted-media")
    assert model is not None
    facts = {"job_id": None, "region": "world", "output_cap": 1, "card": None, "input_key": "", "input_etag": ""}
    return Context(model=model, options=RowOptions(), input_bytes=0, store=store(), **facts)  # type: ignore[arg-type]


def prepared(*parts: Any, go_on: bool = True) -> Prepared:
    used = context()
    row = parse(chat_line("x", list(parts)).encode(), model=used.model, options=used.options)
    return prepare(row, context=used, patience=Patience(), go_on=lambda: go_on)


def refusal(*parts: Any) -> RowError:
    with pytest.raises(RowError) as refused:
        prepared(*parts)
    return refused.value


def failing(server: https.Server, path: str, status: int, times: int) -> None:
    """Answer `status` that many times, and then the picture."""
    tries = itertools.count(1)

    def handle(_: https.Request, peer: socket.socket) -> None:
        body = PNG if next(tries) > times else b""
        peer.sendall(f"HTTP/1.1 {200 if body else status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    server.handlers[path] = handle


def test_bytes_of_a_url_take_its_place(host: https.Server) -> None:
    found = prepared(by_url("image", host.url("/picture.png")), by_url("image", host.url("/picture.png")))
    assert [(part.url, part.format) for part in found.request.media] == [(None, "png")] * 2  # type: ignore[union-attr]
    assert found.media.images == 2
    assert found.size_bytes == 2 * 4 * -(-len(PNG) // 3)
    assert len(host.requests) == 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_a_passing_fault_is_asked_again(host: https.Server, status: int) -> None:
    failing(host, "/late.png", status, times=2)
    assert prepared(by_url("image", host.url("/late.png"))).media.images == 1
    failing(host, "/never.png", status, times=3)
    error = refusal(by_url("image", host.url("/never.png?token=secret")))
    assert (error.code, error.param) == ("media_unreachable", "body.messages[0].content[0]")
    assert error.message == f"body.messages[0].content[0] could not be fetched: its host answered {status}."


@pytest.mark.parametrize("status", [301, 400, 403, 404, 410])
def test_another_fault_is_asked_once(host: https.Server, status: int) -> None:
    host.answer("/gone.png", status, b"", Location="https://source.test/picture.png")
    assert str(status) in refusal(by_url("image", host.url("/gone.png"))).message
    assert len(host.requests) == 1


def test_what_is_compressed_or_too_large_is_refused(host: https.Server) -> None:
    host.answer("/bomb.png", 200, gzip.compress(bytes(10_000_000)), Content_Encoding="gzip")
    assert "compressed" in refusal(by_url("image", host.url("/bomb.png"))).message
    host.answer("/huge.png", 200, b"", Content_Length=str(20 * 1024 * 1024 + 1))
    assert "more than 20 MiB" in refusal(by_url("image", host.url("/huge.png"))).message


def test_a_row_has_a_bound_for_all_of_its_media(host: https.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MOST_BYTES", len(PNG) + 10)
    host.answer("/other.png", 200, PNG)
    error = refusal(by_url("image", host.url("/picture.png")), by_url("image", host.url("/other.png")))
    assert error.param == "body.messages[0].content[1]"


def test_an_address_named_again_counts_again(host: https.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of parts of one large clip would otherwise fill the memory of the worker."""
    monkeypatch.setattr(fetching, "MOST_BYTES", len(PNG) + 10)
    error = refusal(*[by_url("image", host.url("/picture.png"))] * 2)
    assert (error.code, error.param) == ("media_unreachable", "body.messages[0].content[1]")
    assert len(host.requests) == 1


def test_a_picture_that_takes_too_long_is_given_up(host: https.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "IMAGE_SECONDS", 0.2)
    host.handlers["/slow.png"] = lambda _, peer: host.stopping.wait(5)  # type: ignore[assignment,func-returns-value]
    assert "took too long" in refusal(by_url("image", host.url("/slow.png"))).message


def test_a_worker_that_stops_leaves_the_row(host: https.Server) -> None:
    with pytest.raises(fetching.Halted):
        prepared(by_url("image", host.url("/picture.png")), go_on=False)


def test_a_surplus_is_refused_before_anything_is_fetched(host: https.Server) -> None:
    error = refusal(*[by_url("image", host.url("/picture.png"))] * 3)
    assert error.message == "the row carries 3 images: model 'scripted-media' takes at most 2"
    assert host.requests == []
