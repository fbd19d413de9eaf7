"""Takes the bytes of an uploaded file off the event loop, a block at a time: the next one is gathered meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from accounts.callers import Caller
from anex.core.errors import InvalidRequest, TooLarge, Unavailable, Unprocessable
from anex.core.threads import Threads
from inference.requests.batch_lines import Target
from inference.requests.envelope import URLS
from jobs.api.files.exchange import in_thread
from jobs.models import FileUpload
from jobs.run.arrivals.checker import CheckerLost
from jobs.run.arrivals.lines import BadLine
from jobs.run.arrivals.reception import Reception, reception
from jobs.services import submissions
from jobs.storage import keys, store
from jobs.storage.interface import Stored

# Of a process; each takes a child, and of S3 two parts in memory.
MOST_AT_ONCE: Final = 8
BLOCK_BYTES: Final = 1024 * 1024

# For what waits for the store: it keeps nobody from the database.
in_own_thread: Final = Threads(MOST_AT_ONCE, "uploads").run


class Intake:
    """What was found of the file so far. Everything raises AnexError for a file that is refused."""

    def __init__(self, reception: Reception, caller: Caller) -> None:
        self.size = 0
        self._reception = reception
        self._caller = caller
        self._gathered = bytearray()
        self._taking: asyncio.Task[None] | None = None
        self._target: Target | None = None

    async def add(self, found: bytes) -> None:
        """The next bytes of the file."""
        self.size += len(found)
        self._gathered += found
        if len(self._gathered) >= BLOCK_BYTES:
            await self._hand_on()

    async def finish(self) -> None:
        """The file is whole: check what is left of it."""
        await self._hand_on()
        await self.settle()
        await in_own_thread(self._reception.checker.finish)
        await self._check_target()

    async def settle(self) -> None:
        """Until no thread is at the file any more."""
        if self._taking:
            # Whoever is cancelled here leaves the thread at work, and waits for it once more on the way out.
            await asyncio.wait([self._taking])
            taken, self._taking = self._taking, None
            taken.result()

    def result(self) -> tuple[Stored, Target]:
        """The finished object, and what its lines name."""
        assert self._target
        return self._reception.writer.stored, self._target

    async def _hand_on(self) -> None:
        await self.settle()
        await self._check_target()
        block = bytes(self._gathered)
        self._gathered.clear()
        if not block:
            return
        self._taking = asyncio.create_task(in_own_thread(self._reception.take, block))

    async def _check_target(self) -> None:
        checker = self._reception.checker
        if self._target is None and checker.target:
            self._target = checker.target
            await in_thread(_check_target, self._caller, checker.target, checker.target_line)


@asynccontextmanager
async def receiving(place: FileUpload, caller: Caller) -> AsyncIterator[Intake]:
    """The intake of a file; its object appears when the block is left without an exception."""
    manager = reception(store(place.region), keys.uploaded_file(place.organization_id, place.pk))
    intake = Intake(await in_own_thread(manager.__enter__), caller)
    try:
        yield intake
    except BaseException as error:
        with suppress(Exception):
            await asyncio.shield(intake.settle())
        with suppress(Exception):
            await asyncio.shield(in_own_thread(manager.__exit__, type(error), error, error.__traceback__))
        raise _told(error) from None
    await in_own_thread(manager.__exit__, None, None, None)


def _told(error: BaseException) -> BaseException:
    """What the client is told of an error."""
    if isinstance(error, BadLine):
        kind = TooLarge if error.status == TooLarge.status else InvalidRequest
        return kind(error.sentence, param=error.param, extra={"line": error.line} if error.line else None)
    if isinstance(error, CheckerLost):
        return Unavailable("The file could not be checked just now. Send it again.")
    return error


def _check_target(caller: Caller, target: Target, line: int) -> None:
    """Raise Forbidden for a model the key may not use, BadLine for one that is not offered for batches on the url."""
    caller.require_model(target.model)
    try:
        model = submissions.offered(target.model, organization_id=caller.organization_id)
    except Unprocessable as error:
        raise BadLine(line, f"{error.message}: it is not offered for batches", "body.model") from None
    if target.url not in (urls := URLS[model.task]):
        raise BadLine(line, f"url must be {' or '.join(urls)} for the model '{model.id}'", "url")
