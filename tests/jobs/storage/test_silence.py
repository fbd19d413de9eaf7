"""Clients that fall silent, played by hand against the ASGI handlers."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from anex.core import clock
from jobs.storage import asgi, local_store
from jobs.storage.local import LocalStore


@pytest.fixture
def store(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    settings.ANEX_STORAGE_DIR = tmp_path
    monkeypatch.setattr(asgi, "SILENCE_S", 0.05)
    return local_store()


class Client:
    """Sends what it was given and then nothing; may stop reading."""

    def __init__(self, *pieces: bytes, reads: bool = True) -> None:
        self.pieces = list(pieces)
        self.reads = reads
        self.events: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if not self.pieces:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": self.pieces.pop(0), "more_body": True}

    async def send(self, event: dict[str, Any]) -> None:
        if not self.reads and event["type"] == "http.response.body":
            await asyncio.Event().wait()
        self.events.append(event)

    @property
    def status(self) -> int:
        return self.events[0]["status"]


def form_of(store: LocalStore) -> bytes:
    target = store.presign_upload("uploads/a", max_bytes=10_000, expires_at=clock.now() + timedelta(hours=1))
    fields = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in target.fields.items()
    )
    return f'{fields}--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nsome rows'.encode()


@pytest.mark.parametrize("length", [0, 100, None])
async def test_an_upload_that_falls_silent_is_ended_and_leaves_nothing(
    store: LocalStore, tmp_path: Path, length: int | None
) -> None:
    client = Client(form_of(store)[:length])
    scope = {"method": "POST", "headers": [(b"content-type", b"multipart/form-data; boundary=b")]}
    await asgi.upload(scope, client.receive, client.send)
    assert client.status == 400
    assert b"RequestTimeout" in client.events[1]["body"]
    assert (b"connection", b"close") in client.events[0]["headers"]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_an_upload_that_trickles_for_too_long_is_ended(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi, "UPLOAD_LIMIT_S", 0.01)
    monkeypatch.setattr(asgi, "SILENCE_S", 60)
    client = Client(form_of(store))
    scope = {"method": "POST", "headers": [(b"content-type", b"multipart/form-data; boundary=b")]}
    await asgi.upload(scope, client.receive, client.send)
    assert b"RequestTimeout" in client.events[1]["body"]


async def test_a_download_that_nobody_reads_is_ended(store: LocalStore) -> None:
    store.put("jobs/a", b"x" * 1_000_000)
    link = urlsplit(store.presign_download("jobs/a", expires_in_s=60, filename="f"))
    client = Client(reads=False)
    scope = {
        "method": "GET",
        "headers": [],
        "query_string": link.query.encode(),
        "url_route": {"kwargs": {"key": "jobs/a"}},
    }
    await asgi.download(scope, client.receive, client.send)
    assert [event["type"] for event in client.events] == ["http.response.start"]


async def test_nothing_is_served_here_once_objects_are_in_s3(store: LocalStore, settings: Any) -> None:
    settings.ANEX_S3_BUCKET = "rows"
    client = Client(form_of(store))
    await asgi.upload({"method": "POST", "headers": []}, client.receive, client.send)
    assert client.status == 404
