"""How much of a worker's work is in flight: bounded by rows per model server and by bytes in all."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from anex.core import clock
from inference.backends.registry import Server

log = logging.getLogger(__name__)

MAX_BYTES = 128 * 1024 * 1024
REST_SECONDS = 5.0


@dataclass(slots=True)
class _Load:
    """A server's rows in flight; one that was lost rests, then proves itself with one row at a time."""

    server: Server
    in_flight: int = 0
    rests_until: float = 0.0
    proven: bool = True

    def has_room(self) -> bool:
        limit = self.server.concurrency if self.proven else 1
        return self.in_flight < limit and clock.monotonic() >= self.rests_until


class Window:
    """Places for rows of one model over the servers that answer for it; the least loaded one is next."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._loads: dict[str, _Load] = {}
        self._bytes = 0
        self._max_bytes = max_bytes
        self._changed = asyncio.Condition()
        self.waiting = 0

    @property
    def size(self) -> int:
        """Rows that may be in flight at once."""
        return sum(load.server.concurrency for load in self._loads.values())

    @property
    def in_flight(self) -> int:
        """Rows in flight now."""
        return sum(load.in_flight for load in self._loads.values())

    async def update(self, servers: Sequence[Server]) -> None:
        """Take the present list of servers; rows in flight on one that left still count there until they end."""
        async with self._changed:
            known = self._loads
            self._loads = {server.base_url: known.get(server.base_url) or _Load(server) for server in servers}
            for server in servers:
                self._loads[server.base_url].server = server
            self._changed.notify_all()

    async def acquire(self, size_bytes: int) -> Server:
        """Wait for a place for a row of this size; a row larger than the whole budget travels alone."""
        self.waiting += 1
        try:
            async with self._changed:
                while not (server := self._place(size_bytes)):
                    await self._changed.wait()
                self._loads[server.base_url].in_flight += 1
                self._bytes += size_bytes
                return server
        finally:
            self.waiting -= 1

    async def release(self, server: Server, size_bytes: int) -> None:
        """Give a place back."""
        async with self._changed:
            if server.base_url in self._loads:
                self._loads[server.base_url].in_flight -= 1
            self._bytes -= size_bytes
            self._changed.notify()

    def lost(self, server: Server) -> None:
        """A server could not be reached or broke off: leave it alone for a while."""
        if load := self._loads.get(server.base_url):
            if load.proven:
                log.warning("the server of %s at %s is lost", server.model_id, server.base_url)
            load.proven, load.rests_until = False, clock.monotonic() + REST_SECONDS

    def proved(self, server: Server) -> None:
        """A server answered."""
        if load := self._loads.get(server.base_url):
            load.proven = True

    def _place(self, size_bytes: int) -> Server | None:
        if self._bytes and self._bytes + size_bytes > self._max_bytes:
            return None
        free = [load for load in self._loads.values() if load.has_room()]
        if not free:
            return None
        return min(free, key=lambda load: load.in_flight / load.server.concurrency).server
