"""One chat as it is answered: asked of a server, given whole or as it comes, billed for what it used."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from anex.core import clock
from anex.core.errors import AnexError, InvalidRequest
from inference.backends.answers import Refused
from inference.backends.faults import ServerFailed, ServerLost, UpstreamError
from inference.backends.registry import Server
from inference.requests import chat_upstream
from inference.requests.chat_request import ChatRequest
from inference.requests.translation import rename
from realtime import errors, media, sse
from realtime.chat.events import EventStream
from realtime.chat.promised import Promised
from realtime.chat.protocol import Head, Protocol
from realtime.chat.reading import Delta, Reader
from realtime.chat.usage import usage_object
from realtime.handling import refusal
from realtime.house import House
from realtime.http import Exchange
from realtime.meter import Meter
from realtime.offers import Offer
from realtime.threads import aside
from realtime.upstream import Begun

log = logging.getLogger(__name__)

# Before a hold ends by itself (see realtime/admission.py).
LONGEST_STREAM_S: Final = 3000.0
_PATH: Final = "/chat/completions"
_OURS: Final = 500


class Posed(NamedTuple):
    """A request that was read, and what of its protocol is not in the chat request."""

    protocol: Protocol
    chat: ChatRequest
    echo: Any
    names: Mapping[str, str]


def head(exchange: Exchange, offer: Offer, posed: Posed) -> Head:
    """What names the answer to a request."""
    return Head(f"{posed.protocol.id_prefix}{exchange.request_id}", int(clock.now().timestamp()), offer.model.id)


class Answer:
    """The answer to one admitted request: either `whole` or `stream` is called, once."""

    def __init__(self, exchange: Exchange, house: House, offer: Offer, posed: Posed, meter: Meter) -> None:
        self._exchange = exchange
        self._house = house
        self._model = offer.model
        self._posed = posed
        self._asked = posed.chat
        self._meter = meter
        self._reader = Promised(posed.chat) if posed.chat.promises else Reader(posed.chat)
        self._head = head(exchange, offer, posed)

    async def whole(self) -> bytes:
        """One JSON object, paid for once it is there; TimeoutError (504) past the limit of such answers."""
        gathered = self._posed.protocol.whole(self._head, self._asked, self._posed.echo)

        async def take(deltas: list[Delta]) -> None:
            for delta in deltas:
                gathered.add(delta)

        async with asyncio.timeout(self._longest_s()):
            await self._fetch()
            await self._read(take)
        body = orjson.dumps(gathered.body(self._usage()))
        await self._keep(body)
        await self._meter.finish()
        return body

    async def stream(self) -> None:
        """Events as they come. What fails after the first byte is told in the last of them."""
        writer = self._posed.protocol.events(self._head, self._asked, self._posed.echo)
        async with EventStream(self._exchange, self._house.patience) as out:

            async def take(deltas: list[Delta]) -> None:
                await out.send(b"".join(map(writer.write, deltas)))

            try:
                async with asyncio.timeout(LONGEST_STREAM_S):
                    await self._fetch()
                    await self._read(take)
            except TimeoutError:
                # A client that reads so slowly has most of its answer.
                self._meter.end("left")
                raise
            except Exception as error:
                if not self._exchange.answered:
                    raise
                # An AnexError may quote the request.
                why = error if isinstance(error, UpstreamError) else type(error).__name__
                log.warning("%s broke off: %s", self._exchange.request_id, why)
                told = errors.shown(error)
                rename(told, self._posed.names)
                last = writer.error(errors.as_object(told, self._exchange.profile))
                await self._keep(last, refused=True)
                refused = isinstance(error, AnexError) and error.status < _OURS
                await self._meter.finish("refused" if refused else "failed")
                await out.end(last)
                return
            last = writer.finish(self._usage())
            await self._keep(last)
            await self._meter.finish()
            await out.end(last)

    async def _keep(self, last: bytes, *, refused: bool = False) -> None:
        """Let a resend of the request find what is paid for: before it is, so that nobody looks too early."""
        if recorder := self._exchange.recorder:
            nano = self._meter.price_nano(refused=refused)
            if nano or not refused:
                await recorder.keep(last, charged_nano=nano)

    async def _fetch(self) -> None:
        if self._asked.media:
            stored = self._house.stored(self._meter.admitted.caller.organization_id)
            profile = self._exchange.profile
            ready = await media.prepare(self._asked.media, model=self._model, profile=profile, stored=stored)
            self._asked = msgspec.structs.replace(self._asked, media=ready.parts)
            self._meter.sent(ready.items)

    async def _read(self, take: Callable[[list[Delta]], Awaitable[None]]) -> None:
        """Give `take` what the answer gains; whatever happens, the meter knows what was used."""
        try:
            if isinstance(self._reader, Promised):
                await self._take_turn(self._reader, take)
            else:
                await self._ask(take)
        except Refused as refused:
            await media.check_pictures(self._asked.media, profile=self._exchange.profile)
            raise self._refusal(refused) from None
        finally:
            self._count()

    async def _take_turn(self, answer: Promised, take: Callable[[list[Delta]], Awaitable[None]]) -> None:
        """As `_ask`; the answer ends with its turn, and is checked before its end is told."""
        limit = asyncio.timeout(self._house.patience.turn_s or self._exchange.profile.turn_s)
        try:
            async with limit:
                await self._ask(take)
        except TimeoutError:
            if not limit.expired():
                raise
            answer.cut()
        await take([await answer.close()])

    async def _ask(self, take: Callable[[list[Delta]], Awaitable[None]]) -> None:
        async with self._house.upstream.stream(self._model.id, _PATH, self._write) as begun:
            await self._follow(begun, take)

    def _refusal(self, refused: Refused) -> AnexError:
        error = refusal(refused.answer, self._model)
        if self._asked.promises and self._asked.use.tools and error.code == InvalidRequest.code:
            return InvalidRequest(error.message, code="tools_rejected", param="tools")
        return error

    def _longest_s(self) -> float:
        patience, profile = self._house.patience, self._exchange.profile
        return LONGEST_STREAM_S if profile.turn_s else patience.answer_s or profile.answer_s

    async def _follow(self, begun: Begun, take: Callable[[list[Delta]], Awaitable[None]]) -> None:
        parser, reader = sse.Parser(), self._reader
        async for block in begun.blocks():
            events = _events(parser, block)
            deltas: list[Delta] = []
            try:
                for event in events:
                    if event != sse.DONE and (delta := reader.read(event)):
                        deltas.append(delta)
            finally:
                if deltas:
                    await take(deltas)
            if sse.DONE in events:
                await begun.finish()
                break
        if reader.finish_reason is None:
            raise ServerLost("The model server ended its answer in the middle.", sent=True)

    async def _write(self, server: Server) -> bytes:
        # Media that was fetched may be long where the request is not.
        is_long = self._exchange.is_long or bool(self._asked.media)
        return await aside(is_long, chat_upstream.write, self._asked, served_name=server.served_name, model=self._model)

    def _count(self) -> None:
        reported, _ = self._reader.usage()
        if reported is not None:
            self._meter.report(reported)
        self._meter.relay(self._reader.pieces)
        if isinstance(self._reader, Promised) and self._reader.owed is not None:
            self._meter.keep(self._reader.owed)

    def _usage(self) -> dict[str, Any]:
        return usage_object(self._meter.billed(), reasoning_tokens=self._reader.reasoning_tokens())


def _events(parser: sse.Parser, block: bytes) -> list[bytes]:
    try:
        return parser.feed(block)
    except sse.TooLong as error:
        raise ServerFailed(str(error)) from None
