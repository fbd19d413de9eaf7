"""Where the event loop has what blocks done: the ORM, tokenizers, schemas, long bodies. Few threads, bounded."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from django.db import InterfaceError, OperationalError, connections

from anex.core.errors import Unavailable

R = TypeVar("R")

# What is longer is read, and written for a server, beside the event loop; up to here that takes a millisecond.
LONG_BYTES: Final = 128 * 1024

_threads = ThreadPoolExecutor(4, thread_name_prefix="realtime")
# Of their own: the registry and the keys do not wait for them.
_aside = ThreadPoolExecutor(2, thread_name_prefix="realtime-long")


async def in_thread(function: Callable[..., R], *arguments: Any, **named: Any) -> R:
    """What a function returns that may use the ORM; its connection is given back.

    Unavailable (503) where the database does not answer it.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads, _run, partial(function, *arguments, **named))


async def aside(is_long: bool, function: Callable[..., R], *arguments: Any, **named: Any) -> R:
    """What a function without I/O returns. Where it works for long, other requests go on between its steps."""
    if not is_long:
        return function(*arguments, **named)
    return await asyncio.get_running_loop().run_in_executor(_aside, partial(function, *arguments, **named))


def _run(call: Callable[[], R]) -> R:
    try:
        return call()
    except (OperationalError, InterfaceError) as error:
        raise Unavailable("The request could not be handled just now. Try again.") from error
    finally:
        connections.close_all()
