"""Where the realtime calls have what blocks done, and what takes long."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from anex.core.threads import ANSWER_S, Threads

R = TypeVar("R")

# What is longer is read, and written for a server, beside the event loop; up to here that takes a millisecond.
LONG_BYTES: Final = 128 * 1024

in_thread: Final = Threads(4, "realtime", patience_s=ANSWER_S).run
# Of their own: the registry and the keys do not wait for them.
_aside = ThreadPoolExecutor(2, thread_name_prefix="realtime-long")


async def aside(is_long: bool, function: Callable[..., R], *arguments: Any, **named: Any) -> R:
    """What a function without I/O returns. Where it works for long, other requests go on between its steps."""
    if not is_long:
        return function(*arguments, **named)
    return await asyncio.get_running_loop().run_in_executor(_aside, partial(function, *arguments, **named))
