"""Where the pump's event loop sends what blocks: the database, the store and the CPU."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")


class Threads:
    """A bounded pool of threads, each with a database connection of its own."""

    def __init__(self, size: int) -> None:
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="pump")

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a blocking function in the pool."""

        def run() -> R:
            close_old_connections()
            try:
                return function(*args, **kwargs)
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def close(self) -> None:
        """Wait for what runs, then end the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)
