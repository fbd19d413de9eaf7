"""All surfaces of a web process in a thread, and every path they have."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from channels.routing import ProtocolTypeRouter
from django.contrib.admindocs.views import simplify_regex
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from anex.connections import Connection
from anex.guard import Guard
from anex.supervisor.valkey import free_port
from jobs.services import media
from realtime.asgi import lifespan
from tests.realtime.served import until

NOWHERE = "00000000-0000-0000-0000-000000000000"
# What stands for a parameter in a path, by its converter; a word where there is none.
_VALUES = {"uuid": NOWHERE, "int": "1"}


@dataclass(frozen=True)
class Route:
    """A route of the URL conf, or of the table of raw handlers, and a path that leads there."""

    route: str
    path: str
    view: Any = None

    @property
    def plain(self) -> str:
        """The path with its parameters, as `<converter:name>`."""
        return _plain(self.route)


@contextmanager
def serving() -> Iterator[str]:
    """Where it listens, until the block ends."""
    from anex.asgi import surfaces

    # Without the edge, whose connection to Valkey belongs to one event loop.
    guarded = ProtocolTypeRouter({"http": Guard(surfaces), "lifespan": lifespan(media.read)})
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(guarded, port=port, http=Connection, loop="asyncio", log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        connection.close()


def django_routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[Route]:
    """Every route of the URL conf."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from django_routes(pattern, route)
        elif isinstance(pattern, URLPattern):
            yield Route(route, _path(route), pattern.callback)


def raw_routes() -> Iterator[Route]:
    """Every route that is answered before Django."""
    from anex.asgi import raw_routes as found

    for pattern in found:
        route = str(pattern.pattern)
        yield Route(route, _path(route))


def _path(route: str) -> str:
    return re.sub(r"<(?:(\w+):)?\w+>", lambda found: _VALUES.get(found[1] or "", "x"), _plain(route))


def _plain(route: str) -> str:
    plain = route if not re.search(r"[\^$?\\]", route) else simplify_regex(route)
    return "/" + plain.lstrip("/")
