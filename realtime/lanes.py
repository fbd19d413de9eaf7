"""Questions asked in groups: what comes under one name while a question is under way goes together in the next.

Alone, a question is asked at once; in a crowd, one statement serves many. A name never has two questions under way.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)
Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 64


class Lanes(Generic[Name, Item, Answer]):
    """`ask` answers a group of items of one name, in their order.

    What it raises, every one of them gets, and so does who waited behind them: nobody waits for more than one failure.
    """

    def __init__(self, ask: Callable[[Name, list[Item]], Awaitable[list[Answer]]]) -> None:
        self._ask = ask
        self._waiting: dict[Name, deque[tuple[Item, asyncio.Future[Answer]]]] = {}
        self._running: set[asyncio.Task[None]] = set()

    def put(self, name: Name, item: Item) -> asyncio.Future[Answer]:
        """The answer to come. A caller that gives up must not cancel it: the question may be under way."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if name in self._waiting:
            self._waiting[name].append((item, future))
        else:
            self._waiting[name] = deque([(item, future)])
            task = asyncio.create_task(self._serve(name))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return future

    async def _serve(self, name: Name) -> None:
        lane = self._waiting[name]
        while lane:
            group = [lane.popleft() for _ in range(min(len(lane), MOST_AT_ONCE))]
            try:
                answers = await self._ask(name, [item for item, _ in group])
            except Exception as error:
                while lane:
                    group.append(lane.popleft())
                for _, future in group:
                    future.set_exception(error)
            else:
                for (_, future), answer in zip(group, answers, strict=True):
                    future.set_result(answer)
        del self._waiting[name]
