"""The hot path's way to Postgres: one pool a process, one statement at a time, no session state, no endless wait.

Statements are not prepared and commit by themselves, so a pooler in transaction mode may stand in between.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from django.db import connections
from psycopg import AsyncConnection, InterfaceError, InternalError, OperationalError, ProgrammingError
from psycopg.conninfo import make_conninfo
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool

from anex.core import clock

log = logging.getLogger(__name__)

CONNECTIONS = 8
# Seconds for a free connection and for the answer together.
PATIENCE_S = 4.0
# For a connection that is not in use to show that it lives.
CHECK_S = 1.0
# How often a pool tries to connect again; waits of its own would double each time.
RECONNECT_S = 1.0


# Of these none has to do with what was asked: a server that is gone, full, read only, or not migrated yet.
_AWAY = (OperationalError, InterfaceError, InternalError, ProgrammingError)


class Away(Exception):
    """The database did not answer, or cannot just now; with `sent`, what was asked may have happened."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class _Connection(AsyncConnection[Any]):
    """One that is closed when its server did not answer in time; to be cancelled would wait for that server again."""

    until: float | None = None

    async def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """As psycopg, until `until`; OperationalError then."""
        left = CHECK_S if self.until is None else max(0.0, self.until - clock.monotonic())
        try:
            return await super().wait(gen, interval, left if timeout is None else timeout)
        except OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                await self.close()
            raise


class Database:
    """Asks through the pool; made in the event loop that uses it."""

    def __init__(self) -> None:
        self._pool = AsyncConnectionPool(
            _conninfo(),
            connection_class=_Connection,
            kwargs={"autocommit": True, "prepare_threshold": None},
            min_size=2,
            max_size=CONNECTIONS,
            open=False,
            timeout=PATIENCE_S,
            reconnect_timeout=RECONNECT_S,
            reconnect_failed=AsyncConnectionPool.check,
            name="realtime",
        )
        self._mending: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start connecting; a database that is away is no error."""
        await self._pool.open()

    async def close(self) -> None:
        """Give every connection back."""
        if self._mending:
            await asyncio.wait([self._mending])
        await self._pool.close()

    async def ask(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of one statement; Away where there is no connection or no answer, else what psycopg raises.

        What it raises has to do with the values, and would be raised for them again. A row that somebody else keeps
        locked for too long is LockNotAvailable: the statement did nothing.
        """
        sent, until = False, clock.monotonic() + PATIENCE_S
        try:
            async with self._pool.connection() as connection:
                sent, connection.until = True, until
                try:
                    return await (await connection.execute(statement, values)).fetchall()
                finally:
                    connection.until = None
        except LockNotAvailable:
            raise
        except _AWAY as error:
            self._mend()
            raise Away(type(error).__name__, sent=sent) from error

    def _mend(self) -> None:
        """Look at every idle connection once: after a restart all of them are dead."""
        if self._mending is None or self._mending.done():
            self._mending = asyncio.create_task(self._check())

    async def _check(self) -> None:
        # Cancelled, it would lose the connections that it has taken out of the pool.
        try:
            await self._pool.check()
        except OperationalError as error:
            log.warning("the database is away: %s", type(error).__name__)


def _conninfo() -> str:
    named = connections["default"].settings_dict
    given = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    places = {name: named[key] for name, key in given.items() if named.get(key)}
    return make_conninfo(**places, **named.get("OPTIONS", {}))
