"""Answers that outlive the connection they were asked on: a resend of the request finds them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class Runs:
    """The tasks of one process; made in the event loop that runs them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, answer: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """A task that ends with its work or with the process. Who waits for it must not cancel it."""
        task = asyncio.create_task(answer)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    async def close(self) -> None:
        """Give up what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Told to whoever waits; nobody may.
            task.exception()
