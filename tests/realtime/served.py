"""The realtime surface as clients reach it: uvicorn in a thread, scripted engines as model servers, a key."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from channels.routing import ProtocolTypeRouter, URLRouter
from django.db import connection
from django.db.models import OuterRef, Subquery
from openai import OpenAI

from accounts.models import Organization
from anex.core.actors import system
from anex.supervisor.valkey import free_port
from billing.models import Account, Hold, UsageRecord
from inference.backends import registry
from jobs.services import media
from realtime.asgi import lifespan, routes
from realtime.house import Patience
from tests.factories import KeyInHand

MODELS = ("scripted", "scripted-media", "scripted-embed", "scripted-decide")

# Nothing here speaks TLS; each client would read all authorities of the world for itself, in 20 ms.
TRUST = ssl.create_default_context()


def configure(port: int, *models: str, **facts: Any) -> None:
    """Name an engine as the server of models."""
    for model in models or MODELS:
        registry.configure(
            model_id=model,
            base_url=f"http://127.0.0.1:{port}/v1",
            served_name=model,
            actor=system("tests"),
            **facts,
        )


class Surface:
    """A running surface and the key that is used on it."""

    def __init__(self, port: int, key: KeyInHand, house: dict[str, Any], server: uvicorn.Server) -> None:
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.key = key
        self.house = house
        self.server = server
        self.http = httpx.Client(base_url=self.origin, headers={"Authorization": key.header}, timeout=30, verify=TRUST)
        self.openai = OpenAI(
            base_url=f"{self.origin}/v1",
            api_key=key.secret,
            max_retries=0,
            http_client=httpx.Client(verify=TRUST, timeout=30),
        )

    def refresh(self) -> None:
        """Know at once what the registry says."""
        asyncio.run_coroutine_threadsafe(self.house["realtime"].servers.refresh(), self.house["loop"]).result(10)

    def look(self) -> None:
        """Know at once which servers are there."""
        house = self.house["realtime"]
        looking = house.servers.look(house.upstream._client)
        asyncio.run_coroutine_threadsafe(looking, self.house["loop"]).result(10)

    def chat(self, text: str = "hi", **body: Any) -> httpx.Response:
        """One chat request."""
        asked = {"model": "scripted", "messages": [{"role": "user", "content": text}], "max_tokens": 50}
        return self.http.post("/v1/chat/completions", json=asked | body)

    def settled(self, records: int = 1) -> list[UsageRecord]:
        """The usage records, in the order of their admissions, once so many are written and nothing is held."""
        organization = Organization.objects.get(pk=self.key.caller.organization_id)
        until(lambda: UsageRecord.objects.filter(organization=organization).count() >= records)
        until(lambda: not Account.objects.get(organization=organization).in_flight)
        assert Account.objects.get(organization=organization).held_nano == 0
        admitted = Hold.objects.filter(source=OuterRef("source")).values("id")
        return list(UsageRecord.objects.filter(organization=organization).order_by(Subquery(admitted)))


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for what happens in another thread or process."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def serving(key: KeyInHand, patience: Patience = Patience()) -> Iterator[Surface]:  # noqa: B008
    """The surface until the block ends; what it has to settle is settled then."""
    state: dict[str, Any] = {}
    opened = lifespan(media.read, patience)

    async def live(scope: Any, receive: Any, send: Any) -> None:
        async def noted(event: Any) -> None:
            state.update(scope["state"])
            state["loop"] = asyncio.get_running_loop()
            await send(event)

        await opened(scope, receive, noted)

    application = ProtocolTypeRouter({"http": URLRouter(routes), "lifespan": live})
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(application, port=port, log_level="warning", lifespan="on", timeout_graceful_shutdown=5)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    surface = Surface(port, key, state, server)
    surface.refresh()
    try:
        yield surface
    finally:
        surface.http.close()
        surface.openai.close()
        server.should_exit = True
        thread.join(20)
        connection.close()
