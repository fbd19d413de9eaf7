"""Watches the queues inside model servers, and has a window send less where rows only wait in them.

A row that waits there can be taken by no other server, and stands before the requests of people.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from anex.core import clock
from inference.backends import queue
from inference.backends.client import Client
from inference.backends.registry import Server
from jobs.run.window import Window

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
# For a server that does not tell.
PAUSE_SECONDS: Final = 60.0


class Pressure:
    """Looks at every server that rows are at; used by the pump's event loop."""

    def __init__(self, client: Client, windows: Mapping[str, Window]) -> None:
        self._client = client
        self._windows = windows
        self._mute: dict[str, float] = {}

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception:
                log.exception("a look at the queues of model servers failed; the next one may not")

    async def look(self) -> None:
        """Ask every server once."""
        asked = [(window, server) for window in list(self._windows.values()) for server in window.busy()]
        await asyncio.gather(*(self._ask(window, server) for window, server in asked))

    async def _ask(self, window: Window, server: Server) -> None:
        if clock.monotonic() < self._mute.get(server.base_url, 0.0):
            return
        found = await queue.look(self._client, server)
        if found is None:
            self._mute[server.base_url] = clock.monotonic() + PAUSE_SECONDS
        else:
            window.queued(server.base_url, found)
