"""Settlements on their way to the database: in groups, repeated until acknowledged, never more than there is room for.

Room is taken at admission and given back once a settlement is acknowledged, so a bill always finds a place: where there
is none left, requests are refused instead. A group is written without waiting for the disk, so no account is locked for
so long; a moment later all that were written are confirmed at once, and what a crash lost in between is written again.
"""

import asyncio
import logging
from collections import deque
from contextlib import suppress

import msgspec
from psycopg.errors import LockNotAvailable

from anex.core import clock, measures
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
# How long what is written waits to be confirmed.
CONFIRM_S = 0.05
LONGEST_WAIT_S = 2.0


class Writer:
    """The queue of one process and the tasks that empty it."""

    def __init__(self, database: Database, *, room: int = ROOM) -> None:
        self._database = database
        self._room = room
        self._queue: deque[Ended] = deque()
        self._unacknowledged: dict[str, Ended] = {}
        self._put_at: dict[str, float] = {}
        self._unconfirmed: dict[str, Ended] = {}
        self._locked: list[Ended] = []
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._filled = asyncio.Event()
        self._written = asyncio.Event()
        self._found_locked = asyncio.Event()
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
        self._unacknowledged[ended.source] = ended
        self._put_at[ended.source] = clock.monotonic()
        self._enqueue(ended)

    def has(self, source: str) -> bool:
        """Whether it was put and is not acknowledged."""
        return source in self._unacknowledged

    async def written(self, source: str) -> None:
        """Wait until what was put is written, so that its slot is free, and make it hurry."""
        if source not in self._unacknowledged or source in self._unconfirmed:
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
        """Write and confirm until closed and empty."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write_all())
            tasks.create_task(self._write_locked())
            tasks.create_task(self._confirm_all())

    def close(self) -> None:
        """Admit nothing more; `run` ends when all that was put is acknowledged."""
        self._closing.set()
        self._wake()

    def abandon(self) -> None:
        """Tell the log what was not acknowledged before the process had to end; those holds are lost."""
        for ended in self._unacknowledged.values():
            log.error("not settled before the end of the process: %s", msgspec.json.encode(ended).decode())

    def _enqueue(self, ended: Ended) -> None:
        self._queue.append(ended)
        self._filled.set()

    def _wake(self) -> None:
        self._filled.set()
        self._written.set()
        self._found_locked.set()

    def _is_done(self) -> bool:
        return self._closing.is_set() and not self._unacknowledged

    async def _write_all(self) -> None:
        while not self._is_done():
            await self._filled.wait()
            if len(self._queue) < MOST_AT_ONCE and not self._closing.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LINGER_S):
                        await self._hurried.wait()
                self._hurried.clear()
            group = [self._queue.popleft() for _ in range(min(len(self._queue), MOST_AT_ONCE))]
            if not self._queue:
                self._filled.clear()
            if group:
                await self._write(group)

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
                self._note(group, rows)
                return

    async def _write_apart(self, group: list[Ended], error: Exception) -> None:
        """One that the database refuses, or whose account is locked, keeps no other from being settled."""
        accounts = _by_account(group)
        if len(accounts) > 1:
            for part in accounts:
                await self._write(part)
        elif isinstance(error, LockNotAvailable):
            self._locked += group
            self._found_locked.set()
        elif len(group) > 1:
            for ended in group:
                await self._write([ended])
        else:
            self._acknowledge(group)
            log.error("cannot be settled (%s): %s", error, msgspec.json.encode(group[0]).decode())

    async def _write_locked(self) -> None:
        """Those of locked accounts, which are waited for here: behind them nobody else waits."""
        while not self._is_done():
            await self._found_locked.wait()
            self._found_locked.clear()
            group, self._locked = self._locked, []
            for part in _by_account(group):
                await self._write(part)

    def _note(self, group: list[Ended], rows: list[tuple[str, str, int]]) -> None:
        nothing = {source for source, outcome, _ in rows if outcome == "nothing"}
        self._acknowledge([ended for ended in group if ended.source in nothing])
        self._unconfirmed |= {ended.source: ended for ended in group if ended.source not in nothing}
        for ended in group:
            self._free(ended.source)
        self._written.set()
        _log_losses(group, rows)

    async def _confirm_all(self) -> None:
        while not self._is_done():
            await self._written.wait()
            if not self._closing.is_set():
                await asyncio.sleep(CONFIRM_S)
            self._written.clear()
            if self._unconfirmed:
                await self._confirm()

    async def _confirm(self) -> None:
        sources = list(self._unconfirmed)
        try:
            rows = await self._database.ask(requests.CONFIRM, [sources])
        except Exception as error:
            log.warning("%d settlements are not confirmed yet: %s", len(sources), error)
            await asyncio.sleep(CONFIRM_S)
            self._written.set()
            return
        kept = {source for (source,) in rows}
        group = [self._unconfirmed.pop(source) for source in sources]
        self._acknowledge([ended for ended in group if ended.source in kept])
        for ended in group:
            if ended.source not in kept:
                log.warning("%s was lost by the database and is settled again", ended.source)
                self._enqueue(ended)

    def _acknowledge(self, group: list[Ended]) -> None:
        self._room += len(group)
        for ended in group:
            self._unacknowledged.pop(ended.source, None)
            if put_at := self._put_at.pop(ended.source, None):
                measures.SETTLED.observe(clock.monotonic() - put_at)
            self._free(ended.source)
        if self._is_done():
            self._wake()

    def _free(self, source: str) -> None:
        if (future := self._waiting.pop(source, None)) and not future.done():
            future.set_result(None)


def _by_account(group: list[Ended]) -> list[list[Ended]]:
    """Apart by whose they are; each alone where that is not known."""
    parts: dict[str, list[Ended]] = {}
    for ended in group:
        parts.setdefault(ended.organization or ended.source, []).append(ended)
    return list(parts.values())


def _log_losses(group: list[Ended], rows: list[tuple[str, str, int]]) -> None:
    wanted = {ended.source: ended.charge for ended in group}
    for source, outcome, charged_nano in rows:
        if outcome == "late":
            log.warning("%s was settled late: %d of %d nano-dollars", source, charged_nano, wanted[source])
        elif wanted[source] > charged_nano and outcome == "settled":
            log.warning("%s: %d nano-dollars above the hold are our loss", source, wanted[source] - charged_nano)
