"""Sends one row to a model server and judges the answer; waits and tries again where that can help."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from anex.core.errors import Unavailable
from anex.core.usage import Usage
from inference.backends import retries
from inference.backends.answers import Answer
from inference.backends.client import Client
from inference.backends.faults import ServerFailed, ServerLost, Throttled, UpstreamError
from inference.backends.registry import Server
from inference.media.fetching import Halted
from inference.media.probe import Patience
from inference.requests import rows as requests
from jobs.run import fetching, judging, measuring
from jobs.run.context import Context
from jobs.run.fetching import Prepared
from jobs.run.outcomes import Outcome, refused
from jobs.run.threads import Threads
from jobs.run.window import Owner, Place, Window

log = logging.getLogger(__name__)

ROW_SECONDS = 600.0
LOOK_SECONDS = 1.0


class NotAnswered(Exception):
    """A row is left for later. `in_hand`: a server was lost while it had the row; `reachable`: servers can be."""

    def __init__(self, *, in_hand: bool, reachable: bool = True) -> None:
        super().__init__("no server answered the row")
        self.in_hand = in_hand
        self.reachable = reachable


class Sender:
    """Sends rows of one job within a window; every row ends as an outcome, or as NotAnswered.

    Rows that wait give up once `halted` says so.
    """

    def __init__(
        self,
        client: Client,
        window: Window,
        context: Context,
        threads: Threads,
        owner: Owner,
        *,
        halted: Callable[[], bool],
    ) -> None:
        self._window = window
        self._client = client
        self._threads = threads
        self._context = context
        self._owner = owner
        self._clamped = False
        self._halted = halted
        self._patience = Patience()

    async def place(self, size_bytes: int) -> Place | None:
        """A place for a row's first attempt; None once halted. Not while rows of the job wait for their media."""
        await self._window.turns.reached(self._context.job_id)
        return await self._window.acquire(size_bytes, owner=self._owner, halted=self._halted)

    async def send(
        self, row: int, request: requests.Row, *, size_bytes: int, place: Place, once: bool = False
    ) -> Outcome:
        """The outcome of a row; `place` is given back here. With `once`, NotAnswered comes at the first loss."""
        if not requests.media_of(request):
            return await self._send(row, Prepared(request), size_bytes=size_bytes, place=place, once=once)
        try:
            ready = await self._prepare(request, place)
        except requests.RowError as error:
            place.release()
            return judging.refuse_media(row, request, error)
        with self._window.holding(ready.size_bytes):
            if fetching.is_hosted(request) and not await place.come_back(halted=self._halted):
                raise NotAnswered(in_hand=False)
            return await self._send(row, ready, size_bytes=size_bytes, place=place, once=once)

    async def _prepare(self, request: requests.Row, place: Place) -> Prepared:
        """The row with its media at hand; NotAnswered once halted. A row that is fetched leaves its place meanwhile."""
        prepare = partial(
            fetching.prepare,
            request,
            context=self._context,
            patience=self._patience,
            go_on=lambda: not self._halted(),
        )
        try:
            if not fetching.is_hosted(request):
                return await fetching.in_thread(prepare)
            place.leave()
            async with self._window.fetching(self._context.job_id):
                return await fetching.in_thread(prepare, fetches=True)
        except Halted:
            raise NotAnswered(in_hand=False) from None
        except Unavailable as error:
            raise NotAnswered(in_hand=False, reachable=False) from error

    async def _send(self, row: int, ready: Prepared, *, size_bytes: int, place: Place, once: bool) -> Outcome:
        request, attempt, in_hand = ready.request, 0, False
        while True:
            attempt += 1
            try:
                cap = await self._output_cap(ready, size_bytes, place.server)
                answer = await self._ask(request, place.server, cap)
                place.proved()
                return await self._outcome(row, ready, answer, place.server)
            except UpstreamError as error:
                wait = retries.wait_before_retry(error, attempt=attempt)
                if isinstance(error, Throttled):
                    place.throttled()
                if isinstance(error, ServerFailed):
                    place.failed(str(error))
                if isinstance(error, ServerLost):
                    place.lost(reachable=error.sent)
                    in_hand = in_hand or error.sent
                    if once or wait is None:
                        raise NotAnswered(in_hand=in_hand, reachable=error.sent) from error
                if wait is None:
                    return refused(row, request.custom_id, str(error), "upstream_error")
            finally:
                place.release()
            place = await self._place_again(wait, size_bytes, in_hand)

    async def _place_again(self, wait: float, size_bytes: int, in_hand: bool) -> Place:
        with self._window.retrying():
            while wait > 0 and not self._halted():
                await asyncio.sleep(min(wait, LOOK_SECONDS))
                wait -= LOOK_SECONDS
            place = await self._window.acquire(size_bytes, owner=self._owner, halted=self._halted, again=True)
        if place is None:
            raise NotAnswered(in_hand=in_hand)
        return place

    async def _output_cap(self, ready: Prepared, size_bytes: int, server: Server) -> int:
        """The row's cap; a default one gives way where the prompt may leave less room than that."""
        context, request = self._context, ready.request
        cap = requests.output_cap(request, context.output_cap)
        own = getattr(request, "own", None)
        if own is None or own.names_cap:
            return cap
        room = requests.context_of(request, context.model)
        if size_bytes + cap <= room and not requests.media_of(request):
            return cap
        try:
            read = await self._threads.call(measuring.count_read, context, request, ready.media, server)
        except Unavailable as error:
            raise NotAnswered(in_hand=False, reachable=False) from error
        return max(1, min(cap, room - read))

    async def _ask(self, request: requests.Row, server: Server, cap: int) -> Answer:
        context = self._context

        def write() -> bytes:
            return requests.upstream_body(
                request,
                served_name=server.served_name,
                model=context.model,
                options=context.options,
                max_tokens=cap,
            )

        body = await fetching.in_thread(write) if requests.media_of(request) else write()
        answer = await self._client.complete(
            server,
            requests.PATHS[context.model.task],
            body,
            timeout_s=ROW_SECONDS,
            input_bound=requests.input_bound(request, context.model),
            output_bound=cap,
        )
        if answer.status == 200 and not requests.has_answer(request, answer.body):
            raise ServerFailed("The model server answered 200 without an answer.")
        return answer

    async def _outcome(self, row: int, ready: Prepared, answer: Answer, server: Server) -> Outcome:
        request, media = ready.request, ready.media
        if answer.status != 200:
            # Every picture is not decoded beforehand: it would take longer than all the rest. A refused one is.
            damaged = await fetching.in_thread(partial(fetching.damaged_picture, request)) if media.images else None
            return judging.refuse_media(row, request, damaged) if damaged else judging.refuse(row, request, answer)
        self._note_clamp(answer, server)
        card, usage, length = self._context.card, answer.usage, None
        try:
            if usage is None:
                usage = await self._threads.call(self._count, ready, answer.body, server)
            if card is None and isinstance(request, requests.ChatRow):
                length = await self._threads.call(measuring.measure, self._context, request, answer, usage, server)
        except Unavailable as error:
            raise NotAnswered(in_hand=False, reachable=False) from error
        if media.has_media:
            usage = dataclasses.replace(
                usage, images=media.images, clips=media.clips, video_ms=media.video_ms, audio_ms=media.audio_ms
            )
        model_id = self._context.model.id
        return await judging.judge(row, request, answer, usage, model_id=model_id, card=card, length=length)

    def _note_clamp(self, answer: Answer, server: Server) -> None:
        """Log the first impossible report of these rows; a server that makes one makes many."""
        if answer.clamped and not self._clamped:
            self._clamped = True
            job, model = self._context.job_id, server.model_id
            log.warning("job %s: a server of %s reported impossible usage, which was clamped", job, model)

    def _count(self, ready: Prepared, body: dict[str, Any], server: Server) -> Usage:
        """Tokens by our own count, for a server that reported none: an answer is never free by accident."""
        request = ready.request
        read = measuring.count_read(self._context, request, ready.media, server)
        if not isinstance(request, requests.ChatRow):
            return Usage(input_tokens=read)
        texts = [judging.thinking_of(body), judging.text_of(body)]
        written = measuring.count_texts(self._context, request, texts, server)
        most = requests.output_cap(request, self._context.output_cap)
        return Usage(input_tokens=read, output_tokens=min(written, most))
