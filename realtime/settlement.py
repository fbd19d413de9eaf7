"""Settlements on their way to the database: in groups, repeated until acknowledged, never more than there is room for.

Room is taken at admission and given back once a settlement is acknowledged, so a bill always finds a place: where there
is none left, requests are refused instead.
"""

import asyncio
import logging
from collections import deque
from contextlib import suppress

import msgspec
from psycopg.errors import LockNotAvailable

from anex.core.errors import Unavailable
from billing import requests
from billing.requests import Ended
from realtime.database import Away, Database

log = logging.getLogger(__name__)

# Requests that are admitted and not yet acknowledged.
ROOM = 8192
MOST_AT_ONCE = 256
# How long the first of a group waits for others; it keeps its slot of the organization's requests in flight meanwhile.
LINGER_S = 0.005
LONGEST_WAIT_S = 2.0


class Writer:
    """The queue of one process and the task that empties it."""

    def __init__(self, database: Database, *, room: int = ROOM) -> None:
        self._database = database
        self._room = room
        self._queue: deque[Ended] = deque()
        self._unacknowledged: dict[str, Ended] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._filled = asyncio.Event()
        self._hurried = asyncio.Event()
        self._closing = asyncio.Event()

    def take_room(self) -> None:
        """Take the place of one settlement to come; Unavailable (503) where there is none."""
        if self._room <= 0 or self._closing.is_set():
            raise Unavailable("Requests cannot be billed just now. Try again.", retry_after=1)
        self._room -= 1

    def give_room_back(self) -> None:
        """For a request that was not admitted after all."""
        self._room += 1

    def put(self, ended: Ended) -> None:
        """Settle it soon; its place was taken before."""
        self._queue.append(ended)
        self._unacknowledged[ended.source] = ended
        self._filled.set()

    async def written(self, source: str) -> None:
        """Wait until what was put is acknowledged, and make it hurry."""
        if source not in self._unacknowledged:
            return
        future = self._waiting.setdefault(source, asyncio.get_running_loop().create_future())
        self._hurried.set()
        try:
            await asyncio.shield(future)
        finally:
            self._waiting.pop(source, None)

    def put_unused(self, ended: Ended) -> None:
        """Settle a hold that was placed, or may have been, for a request that is not going to run."""
        self._room -= 1
        self.put(ended)

    async def run(self) -> None:
        """Write until closed and empty."""
        while self._queue or not self._closing.is_set():
            await self._filled.wait()
            if len(self._queue) < MOST_AT_ONCE and not self._closing.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LINGER_S):
                        await self._hurried.wait()
                self._hurried.clear()
            group = [self._queue.popleft() for _ in range(min(len(self._queue), MOST_AT_ONCE))]
            if not self._queue and not self._closing.is_set():
                self._filled.clear()
            if group:
                await self._write(group)

    def close(self) -> None:
        """Admit nothing more; `run` ends when all that was put is acknowledged."""
        self._closing.set()
        self._filled.set()

    def abandon(self) -> None:
        """Tell the log what was not acknowledged before the process had to end; those holds are lost."""
        for ended in self._unacknowledged.values():
            log.error("not settled before the end of the process: %s", msgspec.json.encode(ended).decode())

    async def _write(self, group: list[Ended]) -> None:
        wait_s = 0.05
        while True:
            try:
                rows = await self._database.ask(requests.SETTLE, [requests.as_json(group)])
            except Away as error:
                log.warning("%d settlements wait for the database: %s", len(group), error)
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, LONGEST_WAIT_S)
            except Exception as error:
                await self._write_apart(group, error)
                return
            else:
                self._acknowledge(group)
                _log_losses(group, rows)
                return

    async def _write_apart(self, group: list[Ended], error: Exception) -> None:
        """One that the database refuses, or whose account is locked, keeps no other from being settled."""
        if len(group) > 1:
            for ended in group:
                await self._write([ended])
            return
        if isinstance(error, LockNotAvailable):
            self.put(group[0])
            return
        self._acknowledge(group)
        log.error("cannot be settled (%s): %s", error, msgspec.json.encode(group[0]).decode())

    def _acknowledge(self, group: list[Ended]) -> None:
        self._room += len(group)
        for ended in group:
            self._unacknowledged.pop(ended.source, None)
            if future := self._waiting.pop(ended.source, None):
                future.set_result(None)


def _log_losses(group: list[Ended], rows: list[tuple[str, str, int]]) -> None:
    wanted = {ended.source: ended.charge for ended in group}
    for source, outcome, charged_nano in rows:
        if outcome == "late":
            log.warning("%s was settled late: %d of %d nano-dollars", source, charged_nano, wanted[source])
        elif wanted[source] > charged_nano:
            log.warning("%s: %d nano-dollars above the hold are our loss", source, wanted[source] - charged_nano)
