"""Runs the rows of one claimed chunk: sends them within the window, makes them durable in parts.

Of a chunk that was claimed three times without progress, as many rows as can be in flight are run one at a time, each
named by a committed cursor before it is sent, so that a row that kills servers is found and fails alone.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from django.db import Error

from anex.core import clock, tracing
from inference.backends.client import Client
from inference.requests import rows as requests
from inference.requests import typed
from jobs.run import claims, fetching, parts
from jobs.run.claims import ALONE_FROM_CLAIM, Claim
from jobs.run.context import Context, load
from jobs.run.lines import custom_id_of, read_lines
from jobs.run.outcomes import Outcome, refused
from jobs.run.sending import NotAnswered, Sender
from jobs.run.threads import Threads
from jobs.run.window import UNSETTLED_ROWS, Owner, Place, Window
from jobs.storage.interface import StoreUnavailable

log = logging.getLogger(__name__)

UNPROCESSABLE = "The row could not be processed. Please contact support."
TWO_DEATHS = "The model server died twice while it answered this row."
# While parts are being written the next one fills; a kill may lose a sixteenth of a chunk beside what is in flight.
PARTS_PER_CHUNK = 32
UNSETTLED_SHARE = 16
WRITERS = 2
PART_SECONDS = 60.0
PART_BYTES = 4 * 1024 * 1024
RETRY_SECONDS = 0.5
PROMPT_BYTES = 4096
# Where the prompt of a row begins: of a chat, or of a chat that is asked in another protocol.
PROMPT_FIELDS = (b'"messages"', b'"instructions"', b'"input"', b'"prompt"')
# Parsing a line of this size takes milliseconds, which the event loop has not.
LONG_LINE_BYTES = 1024 * 1024


@dataclass(slots=True)
class _Buffer:
    """Outcomes that are not durable yet."""

    outcomes: list[Outcome] = field(default_factory=list)
    size_bytes: int = 0
    since: float = 0.0

    def add(self, outcome: Outcome) -> None:
        if not self.outcomes:
            self.since = clock.monotonic()
        self.outcomes.append(outcome)
        self.size_bytes += len(outcome.line)

    def take(self) -> list[Outcome]:
        taken, self.outcomes, self.size_bytes = self.outcomes, [], 0
        return taken


@dataclass(slots=True)
class _Part:
    """Rows on their way to be durable; `stored` is the key and size of their object once it is written."""

    outcomes: list[Outcome]
    stored: tuple[str, int] | None = None


class ChunkRun:
    """One chunk, from claim to last part. `run` ends when nothing of it is in flight any more.

    `trusted` says whether the worker's lease still holds; `share` how many chunks share the part buffer; `running_low`
    is told once, when so few rows are left to send that the next chunk should be at hand.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        client: Client,
        window: Window,
        threads: Threads,
        trusted: Callable[[], bool],
        share: Callable[[], int],
        running_low: Callable[[], None],
    ) -> None:
        self.claim = claim
        self._client = client
        self._window = window
        self._threads = threads
        self._trusted = trusted
        self._share = share
        self._running_low = running_low
        self._told = False
        self._traced = False
        self._buffer = _Buffer()
        self._writers = asyncio.Semaphore(WRITERS)
        self._owner = Owner(claim.organization_id, claim.job_id, claim.share, claim.priority)
        self._unsettled = 0  # sent or answered, and not durable
        self._open_rows = claim.done.count("0")
        self._lost = False  # another worker holds the chunk, or the job has moved on
        self._server_lost = False
        self._suspect = False  # a server died with rows of this chunk in hand
        self.stopping = False
        self.undispatched = self._open_rows

    @property
    def finished(self) -> bool:
        """Whether every row is durable."""
        return self._open_rows == 0

    @property
    def server_lost(self) -> bool:
        """Whether the run ended because no server answers."""
        return self._server_lost

    async def run(self) -> None:
        """Send every open row and make the outcomes durable; gives the chunk back when it cannot finish it."""
        rows = await self._threads.call(self._load)
        context = self._context
        self._parse = typed.reader(context.model, context.options)
        self._sender = Sender(self._client, self._window, context, self._threads, self._owner, halted=self._halted)
        timer = asyncio.create_task(self._flush_old())
        try:
            if self.claim.claims >= ALONE_FROM_CLAIM:
                await self._run_carefully(rows)
            else:
                await self._run_together(rows)
            await self._flush()
            for _ in range(WRITERS):
                await self._writers.acquire()
        finally:
            timer.cancel()
            self._settle(self._unsettled)
        if not self.finished and not self._lost:
            await self._threads.call(claims.release, self.claim, blameless=not self._suspect)

    def _load(self) -> list[tuple[int, bytes]]:
        self._context: Context = load(self.claim.job_id)
        start, end = self.claim.byte_start, self.claim.byte_end
        blob = self._context.store.read_range(self._context.input_key, start, end, etag=self._context.input_etag)
        lines = (line.text for line in read_lines(blob))
        return sorted(
            ((row, text) for row, text in enumerate(lines) if self.claim.done[row] == "0"),
            key=lambda entry: _prompt_start(entry[1]),
        )

    def _halted(self) -> bool:
        return self.stopping or self._lost or self._server_lost or not self._trusted()

    async def _run_together(self, rows: list[tuple[int, bytes]]) -> None:
        async with asyncio.TaskGroup() as group:
            for row, text in rows:
                await self._wait_for_room()
                place = await self._place(len(text))
                if place is None:
                    break
                self._count_dispatched()
                task = group.create_task(self._run_row(row, text, place))
                # Also where the task is cancelled before its first step.
                task.add_done_callback(partial(_give_back, place))

    def _count_dispatched(self) -> None:
        self.undispatched -= 1
        if not self._told and self.undispatched < self._window.ahead:
            self._told = True
            self._running_low()

    async def _place(self, size_bytes: int) -> Place | None:
        place = await self._sender.place(size_bytes)
        self._unsettled += place is not None
        return place

    def _settle(self, rows: int) -> None:
        rows = min(rows, self._unsettled)  # what a row alone did not survive was never sent, or was given up already
        self._unsettled -= rows
        self._window.settle(rows)

    async def _run_row(self, row: int, text: bytes, place: Place) -> None:
        with self._row_span(row):
            outcome = await self._answer(row, text, place)
        if outcome is None:
            self._settle(1)
            return
        self._buffer.add(outcome)
        while self._is_full() and not self._writers.locked():
            await self._flush()

    def _row_span(self, row: int) -> tracing.Span:
        """The first row that is sent has a span of its own, as a sample of its chunk; of the others none is told."""
        if self._traced:
            return tracing.NOTHING
        self._traced = True
        return tracing.span("row", kind="client", facts={"anex.row": self.claim.first_row + row})

    async def _answer(self, row: int, text: bytes, place: Place, *, once: bool = False) -> Outcome | None:
        """The row's outcome; None when it is left for later. What goes wrong with a row stays with it."""
        try:
            is_long = len(text) > LONG_LINE_BYTES
            request = await fetching.in_thread(partial(self._parse, text)) if is_long else self._parse(text)
            return await self._sender.send(row, request, size_bytes=len(text), place=place, once=once)
        except NotAnswered as gone:
            self._server_lost = self._server_lost or not gone.reachable
            self._suspect = self._suspect or gone.in_hand
            return None
        except requests.RowError as error:
            return refused(row, custom_id_of(text), error.message, "invalid_request_error")
        except Exception:
            log.exception("row %s of chunk %s of job %s failed", row, self.claim.index, self.claim.job_id)
            return refused(row, custom_id_of(text), UNPROCESSABLE, "internal_error")

    async def _run_carefully(self, rows: list[tuple[int, bytes]]) -> None:
        """After deaths without progress: as many rows as can be in flight run alone, for one of them is the cause.

        Then the others run together and, alone again, those under which a server died once.
        """
        suspects = {row for row, mark in enumerate(self.claim.suspects) if mark == "1"}
        dead = self._died_under_the_last_worker()
        condemned = [entry for entry in rows if entry[0] == dead and dead in suspects]
        if dead is not None and not condemned:
            await self._suspect_row(dead, suspects)
        innocent = [entry for entry in rows if entry[0] not in suspects]
        in_doubt, others = innocent[: self._window.size], innocent[self._window.size :]
        self.undispatched = 1
        for row, text in condemned:
            self._buffer.add(refused(row, custom_id_of(text), TWO_DEATHS, "server_died"))
        await self._flush()  # before the cursor moves on and its second death is forgotten
        await self._run_alone(in_doubt, suspects)
        self.undispatched = len(others)
        await self._run_together(others)
        await self._run_alone([entry for entry in rows if entry[0] in suspects and entry not in condemned], suspects)

    async def _run_alone(self, rows: list[tuple[int, bytes]], suspects: set[int]) -> None:
        """One row at a time; a row fails at its second death and is left for later at its first."""
        for row, text in rows:
            if self._halted():
                return
            doubted = row in suspects
            outcome = await self._send_alone(row, text)
            if outcome is None and self._halted():
                return
            if outcome is None and not doubted:
                await self._suspect_row(row, suspects)
                continue
            self._buffer.add(outcome or refused(row, custom_id_of(text), TWO_DEATHS, "server_died"))
            await self._flush()

    async def _suspect_row(self, row: int, suspects: set[int]) -> None:
        suspects.add(row)
        self._lost = not await self._threads.call(claims.set_suspects, self.claim, suspects)

    def _died_under_the_last_worker(self) -> int | None:
        """The row that was being run alone when the chunk's former holder vanished."""
        cursor = self.claim.cursor
        return cursor if cursor is not None and self.claim.done[cursor] == "0" else None

    async def _send_alone(self, row: int, text: bytes) -> Outcome | None:
        """The row's outcome; None when the run is halted, or when the server died under the row."""
        place = await self._place(len(text))
        if place is None:
            return None
        try:
            if not await self._threads.call(claims.set_cursor, self.claim, row):
                self._lost = True
                return None
            self._suspect = False
            outcome = await self._answer(row, text, place, once=True)
        finally:
            place.release()
        if outcome is None:
            self._settle(1)
        if outcome is None and not self._suspect:
            await self._threads.call(claims.clear_cursor, self.claim)
        return outcome

    async def _flush_old(self) -> None:
        while True:
            await asyncio.sleep(PART_SECONDS / 12)
            if self._buffer.outcomes and clock.monotonic() - self._buffer.since >= PART_SECONDS:
                await self._flush()

    def _is_full(self) -> bool:
        limit = max(1, min(self.claim.row_count // PARTS_PER_CHUNK, UNSETTLED_ROWS // max(1, self._share())))
        return len(self._buffer.outcomes) >= limit or self._buffer.size_bytes >= PART_BYTES

    async def _wait_for_room(self) -> None:
        """Nothing new is sent while too much cannot be made durable: it is what a kill would lose."""
        while True:
            most = self._window.size + max(1, self.claim.row_count // UNSETTLED_SHARE)
            if not self._is_full() or (self._unsettled < most and self._buffer.size_bytes < PART_BYTES):
                return
            await self._flush()

    async def _flush(self) -> None:
        """Make what has been answered durable."""
        async with self._writers:
            outcomes = self._buffer.take()
            if not outcomes or self._lost:
                return
            if await self._make_durable(outcomes):
                self._open_rows -= len(outcomes)
            else:
                self._lost = True
                log.info("chunk %s of job %s is held by another worker", self.claim.index, self.claim.job_id)
            self._settle(len(outcomes))

    async def _make_durable(self, outcomes: list[Outcome]) -> bool:
        part = _Part(outcomes)
        while self._trusted():
            try:
                return await self._threads.call(self._write, part)
            except (Error, StoreUnavailable) as error:
                log.warning("part of job %s not durable yet: %s", self.claim.job_id, type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)
        return False

    def _write(self, part: "_Part") -> bool:
        """One object and one statement; repeated, the same object."""
        if part.stored is None:
            part.stored = self._store(part.outcomes)
        key, size_bytes = part.stored
        return parts.commit_part(self.claim, part.outcomes, key=key, size_bytes=size_bytes)

    def _store(self, outcomes: list[Outcome]) -> tuple[str, int]:
        if self.claim.kind == "sample":  # a sample's answers are measured, never delivered
            return f"sample/{uuid.uuid4().hex}", 0
        return parts.store_part(self._context.store, self.claim, outcomes)


def _give_back(place: Place, _: asyncio.Task[None]) -> None:
    place.release()


def _prompt_start(text: bytes) -> bytes:
    """What rows of a chunk are ordered by: a server reads the beginning that neighbours share only once."""
    start = next((found for name in PROMPT_FIELDS if (found := text.find(name)) >= 0), len(text))
    return text[start : start + PROMPT_BYTES]
