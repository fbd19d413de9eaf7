"""This process as the database knows it: a row it renews, under whose id it places holds.

A process that is killed stops renewing; the others then end its holds. See docs/decisions/in-flight-in-sql.md.
"""

import asyncio
import logging
from collections.abc import Callable

from psycopg.errors import LockNotAvailable

from anex.core.errors import Unavailable
from billing import requests
from billing.requests import Ended
from realtime.database import Away, Database

log = logging.getLogger(__name__)

EVERY_S = 10.0
# How long a hold may be there before this process knows of it: far longer than it waits for an admission.
UNKNOWN_S = 30.0


class Holder:
    """The row of one process; it is asked whether it knows a source, and to settle what it does not."""

    def __init__(
        self, database: Database, *, knows: Callable[[str], bool], put_unused: Callable[[Ended], None]
    ) -> None:
        self._database = database
        self._knows = knows
        self._put_unused = put_unused
        self._id: int | None = None

    @property
    def id(self) -> int:
        """Under which holds are placed; Unavailable (503) before the database was first reached."""
        if self._id is None:
            raise Unavailable("Requests cannot be admitted just now. Try again.", retry_after=1)
        return self._id

    async def run(self) -> None:
        """Renew, and end what others lost, until cancelled."""
        while True:
            try:
                await self.renew()
                lost = await self._database.ask(requests.REAP, [requests.LEASE_S])
                await self.end_unknown()
            except (Away, LockNotAvailable) as error:
                log.warning("this process could not renew itself: %s", error)
                await asyncio.sleep(1)
                continue
            except Exception:
                # Whatever it is, a process that stops renewing is taken for dead.
                log.exception("this process could not renew itself")
                await asyncio.sleep(1)
                continue
            if lost:
                log.warning(
                    "%d requests were lost and are not charged: %s", len(lost), ", ".join(row[0] for row in lost)
                )
            await asyncio.sleep(EVERY_S)

    async def renew(self) -> None:
        """Count as alive for another while; under a new id where the old one was given up."""
        ((self._id,),) = await self._database.ask(requests.RENEW, [self._id, requests.LEASE_S])

    async def end_unknown(self) -> None:
        """Settle holds of admissions that were done after they were given up, behind the settlement that ended them."""
        held = await self._database.ask(requests.HELD, [self._id, UNKNOWN_S])
        for source, surface, model, amount in held:
            if not self._knows(source):
                log.warning("%s was admitted after it was given up and is not charged", source)
                self._put_unused(requests.unused(source=source, surface=surface, model=model, amount=amount))

    async def retire(self) -> None:
        """Be dead from now on: what is still held is ended by the next to look."""
        if self._id is not None:
            await self._database.ask(requests.RENEW, [self._id, 0.0])
