"""Where an event loop has what blocks done: the ORM, stores, tokenizers, compilers of schemas. Few threads, bounded."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connections

from anex.core.errors import Unavailable

R = TypeVar("R")


class Threads:
    """A pool that nobody else waits for; its threads are started when they are needed."""

    def __init__(self, count: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, function: Callable[..., R], *arguments: Any, **named: Any) -> R:
        """What a function returns that may use the ORM; its connection is given back.

        Unavailable (503) where the database does not answer it.
        """
        call = partial(function, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, _run, call)


def _run(call: Callable[[], R]) -> R:
    try:
        return call()
    except (OperationalError, InterfaceError) as error:
        raise Unavailable("The request could not be handled just now. Try again.") from error
    finally:
        connections.close_all()
