"""How much of a worker's work is in flight: bounded by rows per model server and by bytes in all."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final, NamedTuple
from uuid import UUID

from anex.core import clock
from inference.backends.queue import Queue
from inference.backends.registry import Server
from jobs.run.turns import Turns
from jobs.urgency import USUAL_PRIORITY

log = logging.getLogger(__name__)

MAX_BYTES = 128 * 1024 * 1024
REST_SECONDS = 5.0
TELL_SECONDS = 60.0
# What is left of a server's rows in flight when it throttles, and how often it is taken for a new sign.
EASED_TO = 0.7
EASE_SECONDS = 1.0
# Of a server's requests; more of them wait, twice in a row: that a step of it takes long is no sign.
QUEUED_SHARE = 0.125
# Rows that may be answered and not durable yet, beside those in flight: a sixteenth of a chunk, which a kill may lose.
UNSETTLED_ROWS = 128


@dataclass(slots=True)
class _Load:
    """A server's rows in flight; one that cannot be reached rests, and one that was lost proves itself with one row
    at a time. One that throttles, or in which rows wait (`queues`), gets fewer (`most`), and with each round it answers
    one more. `listed` is False for one that left with rows in flight."""

    server: Server
    in_flight: int = 0
    rests_until: float = 0.0
    proven: bool = True
    listed: bool = True
    most: float = inf
    eased_at: float = -inf
    queues: bool = False
    told_at: float = -inf

    def ease(self) -> None:
        if clock.monotonic() >= self.eased_at + EASE_SECONDS:
            self.eased_at = clock.monotonic()
            self.most = max(1.0, EASED_TO * min(self.most, self.server.concurrency))

    def queued(self, queue: Queue) -> None:
        """What the server tells; at the second look rows keep the share of their places that it is at."""
        queued_before, every = self.queues, queue.running + queue.waiting
        self.queues = queue.waiting > QUEUED_SHARE * every
        if self.queues and queued_before:
            self.most = max(1.0, min(self.most, self.in_flight) * queue.running / every)

    def has_room(self) -> bool:
        limit = min(self.server.concurrency, self.most) if self.proven else 1
        return self.listed and self.in_flight < int(limit) and clock.monotonic() >= self.rests_until


class Owner(NamedTuple):
    """Whose a row is: places are shared between organizations, by `share`; then the job of the highest priority has
    them, and jobs of one priority share them."""

    organization_id: UUID
    job_id: UUID
    share: int = 1
    priority: int = USUAL_PRIORITY


NOBODY: Final = Owner(UUID(int=0), UUID(int=0))


class Place:
    """A row's place at a server and its bytes, until it is released; releasing it again does nothing."""

    __slots__ = ("_at_server", "_load", "_owner", "_size_bytes", "_window")

    def __init__(self, window: "Window", load: _Load, size_bytes: int, owner: Owner) -> None:
        self._window = window
        self._load = load
        self._size_bytes = size_bytes
        self._owner = owner
        self._at_server = True

    @property
    def server(self) -> Server:
        """Where the row may be sent."""
        return self._load.server

    def leave(self) -> None:
        """Let others at the server while the row is made ready; its bytes stay its own."""
        if self._at_server:
            self._at_server = False
            self._load.in_flight -= 1
            self._window.put_aside(self._size_bytes)
            self._window.left(self._owner)

    async def come_back(self, *, halted: Callable[[], bool]) -> bool:
        """Wait for a place at any server, before rows that are new; False once `halted` says so."""
        load = await self._window.find(self._window.least_loaded, owner=self._owner, halted=halted, first=True)
        if load:
            self._load, self._at_server = load, True
            self._window.put_aside(-self._size_bytes)
        return load is not None

    def release(self) -> None:
        """Give the place back."""
        self.leave()
        size_bytes, self._size_bytes = self._size_bytes, 0
        if size_bytes:
            self._window.free(size_bytes)

    def proved(self) -> None:
        """The server answered."""
        self._load.proven = True
        self._load.most += 1 / self._load.most

    def throttled(self) -> None:
        """The server has more than it can do."""
        self._load.ease()

    def failed(self, why: str) -> None:
        """The server failed on a row; the log is told at times, for nobody else knows of one that refuses its key."""
        now = clock.monotonic()
        if now >= self._load.told_at + TELL_SECONDS:
            self._load.told_at = now
            log.warning("the server of %s at %s fails: %s", self.server.model_id, self.server.base_url, why)

    def lost(self, *, reachable: bool) -> None:
        """The server broke off; where it could not even be reached, leave it alone for a while."""
        if self._load.proven:
            log.warning("the server of %s at %s is lost", self.server.model_id, self.server.base_url)
        self._load.proven = False
        if not reachable:
            self._load.rests_until = clock.monotonic() + REST_SECONDS


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    owner: Owner
    future: asyncio.Future[None]


class Window:
    """Places for rows of one model over the servers that answer for it; the least loaded one is next.

    Of those who wait for a place the organization with the fewest rows in flight for its share is next, and of its jobs
    of that share the one with the highest priority, then the fewest rows. Rows that wait to be sent again go first, and
    while there are as many of them as places, no new one is let in: a server that refuses everything does not fill the
    memory with rows. Nor is one let in while too many are not durable yet. Used by one event loop.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._loads: dict[str, _Load] = {}
        self.size = 0  # rows that may be in flight at once
        self._bytes = 0  # of rows that have a place
        self._aside = 0  # bytes of those that left it and will come back
        self._max_bytes = max_bytes
        self._again = 0
        self._waiting_again: list[_Waiting] = []
        self._waiting: list[_Waiting] = []
        self._of_organization: Counter[UUID] = Counter()
        self._of_job: Counter[UUID] = Counter()
        self._looking = self._asked_meanwhile = False
        self._unsettled = 0
        self._fetched = 0
        self.turns = Turns()
        self._roomy = asyncio.Event()
        self._roomy.set()

    @property
    def ahead(self) -> int:
        """Rows that should be at hand to be sent next: what is in flight goes on across the borders of chunks."""
        return 2 * self.size

    def update(self, servers: Sequence[Server]) -> None:
        """Take the present list of servers."""
        for load in self._loads.values():
            load.listed = False
        for server in servers:
            load = self._loads.setdefault(server.base_url, _Load(server))
            load.server, load.listed = server, True
        self._loads = {url: load for url, load in self._loads.items() if load.listed or load.in_flight}
        self.size = sum(load.server.concurrency for load in self._loads.values() if load.listed)
        self.look_again()

    def busy(self) -> list[Server]:
        """The servers that rows are at."""
        return [load.server for load in self._loads.values() if load.listed and load.in_flight]

    def queued(self, base_url: str, queue: Queue) -> None:
        """A server tells what waits inside it."""
        if load := self._loads.get(base_url):
            load.queued(queue)

    def look_again(self) -> None:
        """Have everyone who waits look whether there is a place, or whether they are halted."""
        while waiting := self._take_next():
            waiting.future.set_result(None)

    async def acquire(
        self,
        size_bytes: int,
        *,
        owner: Owner = NOBODY,
        halted: Callable[[], bool] = lambda: False,
        again: bool = False,
    ) -> Place | None:
        """Wait for a place for a row of this size; None once `halted` says so.

        A row larger than the whole budget travels alone. `again` is for a row inside a `retrying` block; any other
        is to be settled, when it is durable or given up.
        """
        load = await self.find(partial(self._free, size_bytes, again), owner=owner, halted=halted, first=again)
        if load is None:
            return None
        self._bytes += size_bytes
        self._unsettled += not again
        return Place(self, load, size_bytes, owner)

    def settle(self, rows: int) -> None:
        """So many rows are durable, or are left for later: a kill does not lose them any more."""
        self._unsettled -= rows
        self._wake()

    async def find(
        self, look: Callable[[], _Load | None], *, owner: Owner, halted: Callable[[], bool], first: bool
    ) -> _Load | None:
        """Wait until `look` finds a server and count the row in there; None once `halted` says so.

        Whoever comes anew stands behind those who wait. Whoever is let in has the time to ask for the next row before
        another place is given: else those who wait would only alternate, whatever they are due.
        """
        loop, waiting = asyncio.get_running_loop(), self._waiting_again if first else self._waiting
        stands_behind = bool(waiting) and not first
        while not halted():
            load = None if stands_behind else look()
            if load:
                load.in_flight += 1
                self._of_organization[owner.organization_id] += 1
                self._of_job[owner.job_id] += 1
                loop.call_soon(self._wake)
                return load
            if self._asked_meanwhile and not stands_behind:
                self._wake()  # what finds no room keeps nobody else from looking
            future = loop.create_future()
            waiting.append(_Waiting(owner, future))
            stands_behind = False
            try:
                await future
            except asyncio.CancelledError:
                self._looking = False
                self._wake()
                raise
            self._looking = False
        self._wake()
        return None

    @contextmanager
    def retrying(self) -> Iterator[None]:
        """For as long as a row waits to be sent again."""
        self._again += 1
        try:
            yield
        finally:
            self._again -= 1
            self._wake()

    @asynccontextmanager
    async def fetching(self, job_id: UUID) -> AsyncIterator[None]:
        """For as long as a row's media is fetched: in its job's turn, and not while fetched bytes fill the budget."""
        async with self.turns.taken(job_id):
            await self._roomy.wait()
            yield

    @contextmanager
    def holding(self, fetched_bytes: int) -> Iterator[None]:
        """For as long as a row holds bytes that were fetched for it, whether it has a place or waits for another."""
        self._hold(fetched_bytes)
        try:
            yield
        finally:
            self._hold(-fetched_bytes)
            self._wake()

    def _hold(self, fetched_bytes: int) -> None:
        self._fetched += fetched_bytes
        if self._fetched < self._max_bytes:
            self._roomy.set()
        else:
            self._roomy.clear()

    def put_aside(self, size_bytes: int) -> None:
        """So many bytes belong to a row that has no place meanwhile; fewer than none, to one that has it again."""
        self._bytes -= size_bytes
        self._aside += size_bytes

    def free(self, size_bytes: int) -> None:
        """A row that left its place does not come back: have so many bytes less, and the next one look again."""
        self._aside -= size_bytes
        self._wake()

    def left(self, owner: Owner) -> None:
        """A row of this owner is at no server any more."""
        for counter, key in ((self._of_organization, owner.organization_id), (self._of_job, owner.job_id)):
            counter[key] -= 1
            if not counter[key]:
                del counter[key]
        self._wake()

    def _wake(self) -> None:
        """Let the next one that waits look again, once the one before it has looked."""
        self._asked_meanwhile = self._looking
        if not self._looking and (waiting := self._take_next()):
            self._looking = True
            waiting.future.set_result(None)

    def _take_next(self) -> _Waiting | None:
        for waiting in (self._waiting_again, self._waiting):
            while waiting:
                next_one = waiting[0] if len(waiting) == 1 or waiting is self._waiting_again else self._next(waiting)
                waiting.remove(next_one)
                if not next_one.future.done():
                    return next_one
        return None

    def _next(self, waiting: Sequence[_Waiting]) -> _Waiting:
        """Whose turn it is; whoever came first where nothing else decides, so that priorities never do between two
        organizations."""
        if len(waiting) == 1:
            return waiting[0]
        in_flight = self._of_organization.get
        loads = [in_flight(one.owner.organization_id, 0) / one.owner.share for one in waiting]
        whose = waiting[loads.index(min(loads))].owner
        own = [
            one
            for one in waiting
            if one.owner.organization_id == whose.organization_id and one.owner.share == whose.share
        ]
        if len(own) == 1:
            return own[0]
        return min(own, key=lambda one: (-one.owner.priority, self._of_job[one.owner.job_id]))

    def _free(self, size_bytes: int, again: bool) -> _Load | None:
        if not again and (self._again >= max(1, self.size) or self._unsettled >= self.size + UNSETTLED_ROWS):
            return None
        # A row that is sent again may hold fetched bytes itself, so it cannot wait for them to be gone, nor for rows
        # that wait for that.
        held = self._bytes if again else self._bytes + self._aside + self._fetched
        if held and held + size_bytes > self._max_bytes:
            return None
        return self.least_loaded()

    def least_loaded(self) -> _Load | None:
        """The server with room that has the fewest rows for its size."""
        free = [load for load in self._loads.values() if load.has_room()]
        return min(free, key=lambda load: load.in_flight / load.server.concurrency) if free else None
