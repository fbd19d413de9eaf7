"""The pump's hand for copies from URLs: a few at a time, in threads of their own, so a slow source delays no job."""

import asyncio
import logging
from collections.abc import Callable

from django.db import Error

from anex.core import log_ids, tracing
from anex.core.errors import Unavailable
from jobs.run import ingests
from jobs.run.claims import Interrupted
from jobs.run.ingests import IngestClaim
from jobs.run.lease import Lease
from jobs.run.threads import Threads

log = logging.getLogger(__name__)

SLOTS = 4
REST_SECONDS = 5.0


class Copier:
    """Belongs to one pump; `threads` are the pump's, for short questions."""

    def __init__(self, *, region: str, threads: Threads, ended: Callable[[], None]) -> None:
        self._region = region
        self._questions = threads
        self._ended = ended
        self._copies = Threads(SLOTS)
        self._claims: dict[asyncio.Task[None], IngestClaim] = {}

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """What is being copied now."""
        return list(self._claims)

    async def look(self, lease: Lease, go_on: Callable[[], bool]) -> None:
        """Begin what is due, as far as there is room. A copy ends soon after `go_on` says no."""
        while len(self._claims) < SLOTS:
            held = [found.id for found in self._claims.values()]
            found = await self._questions.call(ingests.claim, lease, region=self._region, held=held)
            if found is None:
                return
            task = asyncio.create_task(self._run(found, go_on))
            self._claims[task] = found
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._claims.pop(task, None)
        self._ended()

    def close(self) -> None:
        """Wait for the threads, when no task is left."""
        self._copies.close()

    async def _run(self, found: IngestClaim, go_on: Callable[[], bool]) -> None:
        log_ids.begin(input=found.input_id)
        facts: dict[str, tracing.Fact] = {"anex.attempt": found.attempts}
        try:
            with tracing.span("copy", kind="consumer", parent=found.traceparent, facts=facts):
                await self._copies.call(ingests.run, found, go_on=go_on)
        except Interrupted:
            await self._give_back(found, wait_s=0, blameless=True)
        except (Unavailable, Error) as error:
            log.info("copy of input %s has to wait: %s", found.input_id, type(error).__name__)
            await self._give_back(found, wait_s=REST_SECONDS, blameless=True)
        except Exception:
            log.exception("copy of input %s failed", found.input_id)
            await self._give_back(found, wait_s=REST_SECONDS, blameless=False)

    async def _give_back(self, found: IngestClaim, *, wait_s: float, blameless: bool) -> None:
        """A copy that could not be given back is claimed again by this worker: nothing of it runs any more."""
        try:
            await self._questions.call(ingests.give_back, found, wait_s=wait_s, blameless=blameless)
        except Error as error:
            log.warning("copy of input %s not given back: %s", found.input_id, type(error).__name__)
