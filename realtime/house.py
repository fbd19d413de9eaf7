"""All that realtime has in one process: its till, the way to its model servers. Open while the process serves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.conf import settings

from inference.backends.client import Client
from inference.media.fetching import Stored
from realtime.kept import KeptAnswers
from realtime.runs import Runs
from realtime.servers import Servers
from realtime.till import Till
from realtime.upstream import SILENCE_S, Upstream

KEEP_ALIVE_S = 10.0
COMMIT_S = 4.0
CONNECTION_S = 280.0

# As `Stored`, of an organization.
Uploads = Callable[[UUID, str, int], bytes | None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long what is waited for, in seconds: a comment in a stream, a silent server, an answer that is not streamed.

    `answer_s` and `turn_s`, how long a chat may take that ends as by its cap then, are the profile's where None. After
    `commit_s` an answer is begun that is not there yet, and a connection waits `connection_s` for one that outlives it.
    """

    keep_alive_s: float = KEEP_ALIVE_S
    silence_s: float = SILENCE_S
    answer_s: float | None = None
    turn_s: float | None = None
    commit_s: float = COMMIT_S
    connection_s: float = CONNECTION_S


@dataclass(frozen=True, slots=True)
class House:
    """What handlers ask."""

    till: Till
    servers: Servers
    upstream: Upstream
    runs: Runs
    kept: KeptAnswers
    patience: Patience
    uploads: Uploads

    def stored(self, organization_id: UUID) -> Stored:
        """What an organization uploaded."""
        return partial(self.uploads, organization_id)


@asynccontextmanager
async def opened(patience: Patience, uploads: Uploads) -> AsyncIterator[House]:
    """The house of the running event loop; left, it settles what there is and lets go of the rest."""
    till, servers = Till(), Servers()
    runs, kept = Runs(), KeptAnswers(settings.CELERY_BROKER_URL)
    async with Client() as client:
        await till.open()
        await servers.begin()
        reading = asyncio.create_task(servers.run(client))
        try:
            upstream = Upstream(client, servers, silence_s=patience.silence_s)
            yield House(till, servers, upstream, runs, kept, patience, uploads)
        finally:
            reading.cancel()
            await runs.close()
            await till.close()
            await kept.close()
