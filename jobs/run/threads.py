"""Where the pump's event loop sends what blocks: the database, the store and the CPU."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from math import inf
from typing import Any, Final, ParamSpec, TypeVar

from django.db import close_old_connections, connections

from anex.core import clock

P = ParamSpec("P")
R = TypeVar("R")

# Asking a connection whether it lives costs as much as what it is used for.
TRUSTED_SECONDS: Final = 1.0


class Threads:
    """A bounded pool of threads, each with a database connection of its own."""

    def __init__(self, size: int) -> None:
        self._own = threading.local()
        self._connections: list[Any] = []
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="pump", initializer=self._begin)

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a blocking function in the pool."""

        def run() -> R:
            if clock.monotonic() >= self._own.trusted_until:
                close_old_connections()
                self._own.trusted_until = clock.monotonic() + TRUSTED_SECONDS
            try:
                return function(*args, **kwargs)
            except BaseException:
                self._own.trusted_until = -inf
                raise

        return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, run)

    def close(self) -> None:
        """Wait for what runs, then end the threads and their connections; once the event loop has ended."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def _begin(self) -> None:
        self._own.trusted_until = -inf
        connection = connections["default"]
        connection.inc_thread_sharing()
        self._connections.append(connection)
