"""What a process needs to sell realtime requests: opened once in its event loop, asked by all handlers, closed."""

import asyncio
import logging
from contextlib import suppress

from anex.core.errors import Unavailable
from anex.core.usage import Usage
from billing import requests
from billing.pricing import PriceCard
from billing.request_keys import RequestKey
from billing.requests import Ended
from realtime.admission import Admission
from realtime.database import Away, Database
from realtime.holder import Holder
from realtime.meter import Admitted, Meter
from realtime.settlement import Writer

log = logging.getLogger(__name__)

# How long an answer's end waits at most for its slot to be free.
FREED_S = 0.25


class Till:
    """Admits requests and sees to it that each is settled."""

    def __init__(self) -> None:
        self._database = Database()
        self._writer = Writer(self._database)
        self._holder = Holder(self._database, knows=self._knows, put_unused=self._writer.put_unused)
        self._admission = Admission(self._database, self._holder, self._writer)
        self._open: dict[str, Meter] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and start to renew and to write. While the database is away, requests get 503."""
        await self._database.open()
        try:
            await self._holder.renew()
        except Away as error:
            log.warning("no requests are admitted yet: %s", error)
        self._renewing = asyncio.create_task(self._holder.run())
        self._writing = asyncio.create_task(self._writer.run())

    async def admit(
        self,
        header: str | None,
        *,
        surface: str,
        card: PriceCard,
        most: Usage,
        model_limit: int | None = None,
        request_key: RequestKey | None = None,
        request_id: str | None = None,
    ) -> Meter:
        """The meter of a request that may run; enter it before anything is awaited. Raises as `Admission.admit`.

        `model_limit` is how many requests of the model all processes take at once (429 beyond it).
        """
        admitted = await self._admission.admit(
            header,
            surface=surface,
            card=card,
            most=most,
            model_limit=model_limit,
            request_key=request_key,
            request_id=request_id,
        )
        meter = Meter(admitted, self._settle, self._freed)
        self._open[admitted.source] = meter
        return meter

    async def settled(self, source: str) -> None:
        """Wait, for a moment at most, until what has ended here is settled for everybody."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FREED_S):
                await self._writer.written(source)

    async def is_open(self, source: str) -> bool:
        """Whether a request that was admitted, by whichever process, is not settled. Unavailable (503)."""
        try:
            return bool(await self._database.ask(requests.OPEN, [source]))
        except Away as error:
            raise Unavailable("The request could not be looked up just now. Try again.", retry_after=1) from error

    async def close(self, *, patience_s: float = 10.0) -> None:
        """Write what is to be settled and let go of the rest. What still runs has failed: it is free."""
        for meter in list(self._open.values()):
            meter.end("failed")
        self._writer.close()
        if self._writing and self._renewing:
            await asyncio.wait([self._writing], timeout=patience_s)
            for task in (self._writing, self._renewing):
                task.cancel()
            await asyncio.gather(self._writing, self._renewing, return_exceptions=True)
        self._writer.abandon()
        try:
            await self._holder.retire()
        except Away as error:
            log.warning("this process could not retire: %s", error)
        await self._database.close()

    def _knows(self, source: str) -> bool:
        return source in self._open or self._writer.has(source)

    async def _freed(self, admitted: Admitted) -> None:
        # Whoever names a key and has its answer is told that it is settled.
        is_named = admitted.request_key is not None and not admitted.request_key.is_derived
        if is_named or self._admission.is_crowded(admitted.caller.organization_id):
            await self.settled(admitted.source)

    def _settle(self, ended: Ended) -> None:
        del self._open[ended.source]
        self._writer.put(ended)
