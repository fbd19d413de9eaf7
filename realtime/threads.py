"""Where the event loop has what blocks done: the ORM, tokenizers, compilers of schemas. Few threads, bounded."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connections

from anex.core.errors import Unavailable

R = TypeVar("R")

_threads = ThreadPoolExecutor(4, thread_name_prefix="realtime")


async def in_thread(function: Callable[..., R], *arguments: Any, **named: Any) -> R:
    """What a function returns that may use the ORM; its connection is given back.

    Unavailable (503) where the database does not answer it.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads, _run, partial(function, *arguments, **named))


def _run(call: Callable[[], R]) -> R:
    try:
        return call()
    except (OperationalError, InterfaceError) as error:
        raise Unavailable("The request could not be handled just now. Try again.") from error
    finally:
        connections.close_all()
