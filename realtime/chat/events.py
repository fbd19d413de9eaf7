"""The stream of events to a client: begun by the first of them or by the first comment, never silent for long."""

import asyncio
from types import TracebackType

from realtime import sse
from realtime.house import Patience
from realtime.http import Exchange


class EventStream:
    """An async context manager; in silence it sends a comment every so many seconds, the first one sooner."""

    def __init__(self, exchange: Exchange, patience: Patience) -> None:
        self._exchange = exchange
        self._keep_alive_s = patience.keep_alive_s
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time() - max(0.0, patience.keep_alive_s - patience.commit_s)
        self._sending = asyncio.Lock()
        self._ended = False

    async def __aenter__(self) -> "EventStream":
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._beating.cancel()

    async def send(self, events: bytes) -> None:
        """Send what clients read."""
        async with self._sending:
            await self._send(events)

    async def end(self, events: bytes) -> None:
        """Send the last of it."""
        async with self._sending:
            self._ended = True
            await self._send(events, more=False)

    async def _send(self, events: bytes, *, more: bool = True) -> None:
        if not self._exchange.answered:
            await self._exchange.start(200, sse.HEADERS)
        await self._exchange.send({"type": "http.response.body", "body": events, "more_body": more})
        self._last = self._loop.time()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._last + self._keep_alive_s - self._loop.time())
            async with self._sending:
                if not self._ended and self._loop.time() - self._last >= self._keep_alive_s:
                    await self._send(sse.KEEP_ALIVE)
