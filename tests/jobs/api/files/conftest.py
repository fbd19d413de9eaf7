"""The host of files as clients reach it: uvicorn in a thread, on either store, with the clients that SDKs are."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx
import openai
import pytest
import uvicorn
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.db import connections
from django.urls import re_path

from accounts.models import Organization
from anex.core.actors import system
from anex.supervisor.valkey import free_port
from inference.backends import registry
from jobs.api.files.routes import routes
from jobs.storage import store
from jobs.storage.interface import Store
from tests.factories import KeyInHand, grant_credits, make_key, make_organization
from tests.jobs.storage.conftest import s3_store, s3_url

__all__ = ["s3_store", "s3_url"]

CHAT = "scripted"


def row(number: int, **changes: Any) -> dict[str, Any]:
    """A chat request of a batch file."""
    body = {"model": CHAT, "messages": [{"role": "user", "content": "hi"}]}
    return {"custom_id": f"row-{number}", "method": "POST", "url": "/v1/chat/completions", "body": body} | changes


def file_of(*rows: Any) -> bytes:
    """Rows as lines; what is bytes is a line as it is."""
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in rows)


def until(holds: Callable[[], Any], seconds: float = 30) -> None:
    """Wait for what happens in another thread or process."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


BOUNDARY = "a-boundary-of-the-tests"


def part(name: str, value: bytes, *, filename: str | None = None) -> bytes:
    """A part of a form."""
    named = f'; filename="{filename}"' if filename is not None else ""
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + value + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


class Host:
    """The running host, and a key that is used on it."""

    def __init__(self, port: int, key: KeyInHand, objects: Store) -> None:
        self.port = port
        self.key = key
        self.store = objects
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{port}/v1", headers={"Authorization": key.header}, timeout=60
        )
        self.openai = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key.secret, max_retries=0)

    def upload(self, content: bytes, name: str = "rows.jsonl", **fields: str) -> httpx.Response:
        """A form with the purpose before the file."""
        return self.http.post("/files", data={"purpose": "batch"} | fields, files={"file": (name, content)})

    def post(self, body: bytes | Iterable[bytes], **headers: str) -> httpx.Response:
        """A form made by hand; chunked where it comes in pieces."""
        told = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"} | headers
        return self.http.post("/files", content=body, headers=told)

    @property
    def objects(self) -> list[str]:
        """What is in the store."""
        return sorted(stored.key for stored in self.store.list(""))


# For tests of what the stores have to do with; the others run on the local one.
on_both_stores = pytest.mark.parametrize("objects", ["local", "s3"], indirect=True)


@pytest.fixture
def objects(request: pytest.FixtureRequest, settings, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store of the platform, which is empty."""
    if getattr(request, "param", "local") == "s3":
        s3 = request.getfixturevalue("s3_store")
        s3.delete([stored.key for stored in s3.list("")])
        settings.ANEX_S3_BUCKET = s3.bucket
        monkeypatch.setattr("jobs.storage._s3", lambda *_: s3)
    return store()


@pytest.fixture
def owner(transactional_db) -> Organization:
    registry.configure(model_id=CHAT, base_url="http://127.0.0.1:9/v1", served_name=CHAT, actor=system("tests"))
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def host(owner: Organization, objects: Store) -> Iterator[Host]:
    django = get_asgi_application()
    application = ProtocolTypeRouter({"http": URLRouter([*routes(django), re_path(r"", django)])})
    port = free_port()
    config = uvicorn.Config(application, port=port, log_level="warning", lifespan="off", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    running = Host(port, make_key(owner), objects)
    try:
        yield running
    finally:
        running.http.close()
        running.openai.close()
        server.should_exit = True
        thread.join(20)
        connections.close_all()
