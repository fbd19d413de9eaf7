"""Answers that outlive the connection they were asked on: a resend of the request finds them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from anex.core.errors import AnexError
from inference.backends.faults import UpstreamError

log = logging.getLogger(__name__)

R = TypeVar("R")


class Runs:
    """The tasks of one process; made in the event loop that runs them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiting: Counter[str] = Counter()

    def start(self, answer: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """A task that ends with its work or with the process. Who waits for it must not cancel it."""
        task = asyncio.create_task(answer)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    @contextmanager
    def waiting(self, source: str) -> Iterator[int]:
        """Count as one more who waits for an answer; how many others do."""
        others = self._waiting[source]
        self._waiting[source] += 1
        try:
            yield others
        finally:
            self._waiting[source] -= 1
            if not self._waiting[source]:
                del self._waiting[source]

    async def close(self) -> None:
        """Give up what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Told to whoever waits, who may be gone.
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, AnexError | UpstreamError | TimeoutError):
            log.error("an answer failed", exc_info=error)
