"""`/healthz` and `/readyz`: whether this process lives, and whether it can serve. Raw ASGI, on any host name.

Only what every answer needs decides: with Valkey, the store or a model server away the rest is still served. What is
told names a part and never an address. Anybody may ask, so the database is asked once a second at most.
"""

import asyncio
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

from django.db import Error, connections
from django.db.migrations.loader import MigrationLoader
from django.urls import re_path

from anex.core import clock
from anex.core.asgi import Exchange, Receive, Scope, Send

log = logging.getLogger(__name__)

# Seconds that an answer of the database is repeated for, and that one is waited for.
KNOWN_FOR_S = 1.0
PATIENCE_S = 3.0
# What a process that is told to end leaves in the state of its requests (anex/serve.py).
DRAINING = "draining"


class Readiness:
    """What is missing, asked by one thread for everybody who wants to know."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._asked: Future[str] | None = None
        self._known_until = 0.0

    async def missing(self) -> str:
        """What this process needs and has not, or nothing."""
        now = clock.monotonic()
        if self._asked is None or (self._asked.done() and now >= self._known_until):
            self._asked = self._thread.submit(missing)
            self._known_until = now + KNOWN_FOR_S
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._asked)), PATIENCE_S)
        except TimeoutError:
            return "database"


def missing() -> str:
    """`database` where it does not answer on a new connection, `migrations` where it lacks some of ours, or nothing.

    A database that is ahead of us is none: migrations come before the processes that need them.
    """
    database = connections["default"]
    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL")
            if not cursor.fetchone()[0]:
                return "migrations"
            cursor.execute("SELECT app, name FROM django_migrations")
            return "migrations" if _ours() - set(cursor.fetchall()) else ""
    except Error as error:
        log.warning("Not ready: the database does not answer (%s).", type(error).__name__)
        return "database"
    finally:
        database.close()


@lru_cache(maxsize=1)
def _ours() -> set[tuple[str, str]]:
    return set(MigrationLoader(None).disk_migrations)


async def alive(scope: Scope, receive: Receive, send: Send) -> None:
    """200 as long as the event loop turns."""
    await _tell(Exchange(scope, receive, send), 200, "alive")


async def ready(scope: Scope, receive: Receive, send: Send) -> None:
    """200 where requests can be served, else 503 and why not: `draining`, `database` or `migrations`."""
    exchange = Exchange(scope, receive, send)
    why = DRAINING if scope.get("state", {}).get(DRAINING) else await _readiness.missing()
    if why:
        await _tell(exchange, 503, f"not ready: {why}", (b"retry-after", b"1"))
    else:
        await _tell(exchange, 200, "ready")


_readiness = Readiness()
# Served before Django; see anex/asgi.py.
routes = [re_path(r"^healthz$", alive), re_path(r"^readyz$", ready)]  # type: ignore[arg-type]


async def _tell(exchange: Exchange, status: int, what: str, *headers: tuple[bytes, bytes]) -> None:
    if exchange.scope["method"] not in ("GET", "HEAD"):
        status, what, headers = 405, "use GET", ((b"allow", b"GET, HEAD"),)
    body = f"{what}\n".encode()
    length = (b"content-length", str(len(body)).encode())
    told = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), length, *headers]
    await exchange.start(status, told)
    await exchange.send({"type": "http.response.body", "body": b"" if exchange.scope["method"] == "HEAD" else body})
