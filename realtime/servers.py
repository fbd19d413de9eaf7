"""The model servers of this process's region: who answers for a model, who has the least to do, who is left alone.

The registry is read again every few seconds in a thread; while it cannot be read, what was known counts. Each server is
looked at as often: one that is not there gets no requests until it is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from itertools import chain
from typing import Final

from django.conf import settings

from anex.core import clock
from anex.core.errors import TooManyRequests, Unavailable
from inference import catalogue
from inference.backends import health, registry
from inference.backends.answers import Refused
from inference.backends.client import Client
from inference.backends.faults import FormFailed, Throttled, UpstreamError
from inference.backends.registry import Server
from realtime.threads import in_thread

log = logging.getLogger(__name__)

EVERY_S: Final = 2.0
# What the first reading may take before requests are answered without it.
FIRST_S: Final = 10.0
# A server that failed so often in a row is left alone for a while; then one request tries it.
FAILURES: Final = 5
REST_S: Final = 10.0
# A server that answers so many looks in a row with silence, and sends nothing else meanwhile, is not there.
SILENCES: Final = 3
# What a client of a model whose server is starting is asked to wait: clients that resend twice get 40 s.
WARMING_S: Final = 20


class _Load:
    """What this process has under way at a server, and how the last requests ended."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.asked = 0
        self.failures = 0
        self.rests_until = 0.0
        self.is_tried = False
        self.is_ill = False
        self.silences = 0

    @property
    def is_open(self) -> bool:
        """Whether it may be sent a request: it is there, does not rest, and nobody else tries it after a rest."""
        if self.is_ill:
            return False
        return self.failures < FAILURES or (clock.monotonic() >= self.rests_until and not self.is_tried)


class Lease:
    """A request under way at a server; exactly one of its ends is called."""

    def __init__(self, server: Server, load: _Load) -> None:
        self.server = server
        self._load = load
        self._tries = load.failures >= FAILURES
        load.in_flight += 1
        load.is_tried |= self._tries

    def heard(self) -> None:
        """The server sends: it may be too busy for looks, but it is there."""
        self._load.silences = 0

    def worked(self) -> None:
        """The server gave an answer, or a refusal of the request."""
        self.drop()
        self.heard()
        self._load.failures = 0

    def failed(self, error: UpstreamError) -> None:
        """The server is at fault. Being asked to wait is none, and what a schema broke breaks on every server."""
        self.drop()
        if isinstance(error, Throttled | FormFailed):
            return
        self._load.failures += 1
        if self._load.failures >= FAILURES:
            self._load.rests_until = clock.monotonic() + REST_S
            log.warning("%r is left alone for %g s: %s", self.server, REST_S, error)

    def end(self, error: BaseException | None) -> None:
        """One of its ends, by what the request ended in."""
        if error is None or isinstance(error, Refused):
            self.worked()
        elif isinstance(error, UpstreamError):
            self.failed(error)
        else:
            self.drop()

    def drop(self) -> None:
        """Nothing is known of it: the client left, or the fault is ours."""
        self._load.in_flight -= 1
        if self._tries:
            self._load.is_tried = False


class Servers:
    """The servers this process knows."""

    def __init__(self) -> None:
        self._by_model: dict[str, list[Server]] = {}
        self._awaited: frozenset[str] = frozenset()
        self._off: Mapping[str, str] = {}
        self._loads: dict[int, _Load] = {}
        self._asked = 0

    def serve(self, model_id: str) -> bool:
        """Whether a model has a server here."""
        return model_id in self._by_model

    def absence(self, model_id: str) -> Unavailable:
        """Why nobody can be asked for a model: an operator switched it off, its server is starting, or none is there.

        One that is registered and is not there counts as starting: what starts servers does it again.
        """
        if reason := self._off.get(model_id):
            return registry.switched_off(model_id, reason)
        known = [self._loads[server.id] for server in self._by_model.get(model_id, ())]
        if all(load.is_ill for load in known) if known else model_id in self._awaited:
            model = catalogue.get(model_id)
            code = "embeddings_warming" if model and model.task == "embed" else "model_warming"
            told = f"A server of the model '{model_id}' is starting. Nothing is charged; send this again as it is."
            return Unavailable(told, code=code, retry_after=WARMING_S)
        return Unavailable(f"No server of the model '{model_id}' answers just now. Try again.", retry_after=2)

    def has_other(self, model_id: str, tried: Container[int]) -> bool:
        """Whether a server that was not tried has room just now."""
        return any(load.in_flight < server.concurrency for server, load in self._usable(model_id, tried))

    def lease(self, model_id: str, *, tried: Container[int] = ()) -> Lease:
        """The server of a model that has the least to do for what it can do at once; of equals, who waited longest.

        Raises Unavailable (503) without a server that may be asked, TooManyRequests (429) while all are full.
        """
        usable = self._usable(model_id, tried)
        if not usable:
            raise self.absence(model_id)
        server, load = min(usable, key=lambda pair: (pair[1].in_flight / pair[0].concurrency, pair[1].asked))
        if load.in_flight >= server.concurrency:
            raise TooManyRequests(f"The servers of the model '{model_id}' are full. Try again.", retry_after=1)
        self._asked += 1
        load.asked = self._asked
        return Lease(server, load)

    def _usable(self, model_id: str, tried: Container[int]) -> list[tuple[Server, _Load]]:
        known = self._by_model.get(model_id, ())
        loads = [(server, self._loads[server.id]) for server in known if server.id not in tried]
        return [(server, load) for server, load in loads if load.is_open]

    def update(self, servers: Iterable[Server]) -> None:
        """Take over what the registry says."""
        by_model: dict[str, list[Server]] = {}
        for server in servers:
            by_model.setdefault(server.model_id, []).append(server)
            self._loads.setdefault(server.id, _Load())
        self._by_model = by_model

    async def begin(self) -> None:
        """Read the registry before the first request; a process whose database is away begins without."""
        try:
            async with asyncio.timeout(FIRST_S):
                await self.refresh()
        except Exception as error:
            log.warning("begins without the registry: %s", type(error).__name__)

    async def refresh(self) -> None:
        """Read the registry once."""
        standing = await in_thread(registry.standing, settings.ANEX_REGION)
        self._awaited, self._off = standing.awaited, standing.off
        self.update(standing.servers)

    async def look(self, client: Client) -> None:
        """Look at every server once, all at the same time; what answers for several models is asked once."""
        by_place: dict[tuple[str, str], list[Server]] = {}
        for server in chain.from_iterable(self._by_model.values()):
            by_place.setdefault((server.base_url, server.api_key), []).append(server)
        await asyncio.gather(*(self._look(client, servers) for servers in by_place.values()))

    async def _look(self, client: Client, servers: list[Server]) -> None:
        found = await health.look(client, servers[0])
        for server in servers:
            load = self._loads[server.id]
            load.silences = load.silences + 1 if found == "silent" else 0
            is_ill = found == "ill" or load.silences >= SILENCES
            if is_ill != load.is_ill:
                log.warning("%r is %s", server, f"{found}: it gets no requests" if is_ill else "there again")
            load.is_ill = is_ill

    async def run(self, client: Client) -> None:
        """Read the registry and look at the servers again and again, until cancelled."""
        await asyncio.gather(_repeat(self.refresh, "read the registry"), _repeat(lambda: self.look(client), "look"))


async def _repeat(work: Callable[[], Awaitable[None]], name: str) -> None:
    while True:
        try:
            await work()
        except Exception as error:
            log.warning("cannot %s: %s", name, type(error).__name__)
        await asyncio.sleep(EVERY_S)
