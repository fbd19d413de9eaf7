"""Chats: admitted, asked of a server, answered whole or as it comes, in whichever protocol (references 000 and 004)."""

import asyncio
from typing import Any, Final

import msgspec

from anex.core.errors import AnexError
from inference.catalogue.schema import Model
from inference.requests import chat_request, chat_upstream
from inference.requests.profiles import Profile
from inference.requests.translation import Translated, rename
from realtime import errors
from realtime.chat.answer import Answer, Posed, head
from realtime.chat.chunks import Writer
from realtime.chat.keyed import admit_once, outlive
from realtime.chat.protocol import Protocol
from realtime.chat.terms import bind
from realtime.chat.whole import Whole
from realtime.handling import Handler, read_request
from realtime.house import House
from realtime.http import Exchange, Watched
from realtime.offers import Offer
from realtime.threads import aside, in_thread

_AS_WRITTEN: Final[dict[str, str]] = {}


CHAT: Final = Protocol(
    surface="chat",
    id_prefix="chatcmpl-",
    translate=lambda body, profile: Translated(body, None, _AS_WRITTEN),
    events=lambda head, asked, echo: Writer(head, usage=asked.includes_usage),
    whole=lambda head, asked, echo: Whole(head, logprobs=asked.top_logprobs is not None),
)


def serve(protocol: Protocol) -> Handler:
    """What answers the requests of a protocol; a client that leaves ends its answer at the server."""

    def read(body: dict[str, Any], model: Model, profile: Profile) -> Posed:
        body, echo, names, ignored = protocol.translate(body, profile)
        try:
            chat = chat_request.read(body, model=model, profile=profile)
            if ignored:
                chat = msgspec.structs.replace(chat, ignored=chat.ignored + ignored)
            return Posed(protocol, chat, echo, names)
        except AnexError as error:
            rename(error, names)
            raise

    async def complete(exchange: Exchange, house: House) -> None:
        offer, posed = await read_request(exchange, house, "chat", read)
        async with Watched(exchange.receive) as watched:
            try:
                await _complete(exchange, house, offer, posed, watched)
            except AnexError as error:
                rename(error, posed.names)
                if not (exchange.fills and posed.chat.stream):
                    raise
                events = posed.protocol.events(head(exchange, offer, posed), posed.chat, posed.echo)
                await exchange.answer_bytes(200, events.error(errors.as_object(error, exchange.profile)))

    return complete


async def _complete(exchange: Exchange, house: House, offer: Offer, posed: Posed, watched: Watched) -> None:
    if posed.chat.ignored:
        exchange.tell_ignored(posed.names.get(name, name) for name in posed.chat.ignored)
    if posed.chat.schemas:
        await in_thread(chat_request.check_schemas, posed.chat, exchange.profile)
    most = await aside(exchange.is_long, chat_upstream.most_usage, posed.chat, offer.model)
    meter = await admit_once(exchange, house, offer, posed, most)
    if meter is None:
        return
    bound = bind(posed.chat, meter.admitted.caller.plan, exchange.profile)
    if bound.dropped:
        # A message is never shortened, and the header of reference 004 says so.
        exchange.note(b"x-anex-history-trimmed", f"dropped={bound.dropped}, shortened=0")
    posed = posed._replace(chat=bound.chat)
    answer = Answer(exchange, house, offer, posed, meter)
    if exchange.recorder and not posed.chat.stream:
        await outlive(exchange, house, answer, meter)
        return
    with meter:
        try:
            if posed.chat.stream:
                await answer.stream()
            else:
                await exchange.answer_bytes(200, await answer.whole())
        except asyncio.CancelledError:
            # The process ends before the answer does: that is not the client's doing.
            meter.end("left" if watched.left else "failed")
            raise
