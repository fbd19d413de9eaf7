"""Where an event loop has what blocks done: the ORM, stores, tokenizers, compilers of schemas. Few threads, bounded."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar

from django.db import InterfaceError, OperationalError, connections

from anex.core.errors import Unavailable

R = TypeVar("R")

_LATER: Final = "The request could not be handled just now. Try again."
# Of who answers requests: as long as one statement may take, and a new connection.
ANSWER_S: Final = 12.0


class Threads:
    """A pool that nobody else waits for; its threads are started when they are needed.

    With `patience_s` nobody waits longer, for a thread and for what it does; what has begun is done all the same.
    """

    def __init__(self, count: int, name: str, *, patience_s: float | None = None) -> None:
        self._patience_s = patience_s
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, function: Callable[..., R], *arguments: Any, **named: Any) -> R:
        """What a function returns that may use the ORM; its connection is given back.

        Unavailable (503) where the database does not answer it, or that takes too long.
        """
        call = partial(function, *arguments, **named)
        try:
            async with asyncio.timeout(self._patience_s) as limit:
                return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, _run, call)
        except TimeoutError as error:
            if limit.expired():
                raise Unavailable(_LATER) from error
            raise


@contextmanager
def readers(count: int, name: str) -> Iterator[Executor]:
    """Threads that read several things at once; where one fails nobody waits for the others."""
    pool = ThreadPoolExecutor(count, thread_name_prefix=name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _run(call: Callable[[], R]) -> R:
    try:
        return call()
    except (OperationalError, InterfaceError) as error:
        raise Unavailable(_LATER) from error
    finally:
        connections.close_all()
