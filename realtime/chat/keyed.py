"""Chats that come under an idempotency key: run once, and given again to whoever sends them again (reference 004)."""

import asyncio

from anex.core.errors import AnexError
from anex.core.usage import Usage
from billing.request_keys import KeyTaken
from realtime import sse, waiting
from realtime.chat.answer import Answer, Posed
from realtime.handling import admit, tell_charge
from realtime.house import House
from realtime.http import Exchange
from realtime.kept import Kept, Recorder
from realtime.meter import Meter
from realtime.offers import Offer


async def admit_once(exchange: Exchange, house: House, offer: Offer, posed: Posed, most: Usage) -> Meter | None:
    """The meter of a request that may run; None where it was answered as the request that has its key was.

    Raises as `handling.admit`, and as `waiting.join`.
    """
    seconds, stream = exchange.profile.keeps_answers_s, posed.chat.stream
    while True:
        try:
            meter = await admit(exchange, house, offer, surface=posed.protocol.surface, most=most)
        except KeyTaken as taken:
            if not seconds or taken.is_reused:
                raise
            exchange.note(b"x-anex-job-id", taken.source.removeprefix("req:"))
            filler = waiting.COMMENTS if stream else waiting.SPACES
            if kept := await waiting.join(exchange, house, taken, filler):
                await _repeat(exchange, kept, stream=stream)
                return None
        else:
            if seconds:
                key_id = meter.admitted.caller.key_id
                exchange.recorder = Recorder(house.kept, meter.admitted.source, key_id=key_id, seconds=seconds)
                if stream:
                    exchange.send = exchange.recorder.recording(exchange.send)
            return meter


async def outlive(exchange: Exchange, house: House, answer: Answer, meter: Meter) -> None:
    """Answer with what is not streamed and goes on when its client leaves: sent again, the request is given it."""
    run = house.runs.start(_run(exchange, answer, meter))
    body = await waiting.kept_alive(exchange, house, run, waiting.SPACES)
    tell_charge(exchange, meter.price_nano())
    await exchange.answer_bytes(200, body)


async def _run(exchange: Exchange, answer: Answer, meter: Meter) -> bytes:
    with meter:
        try:
            return await answer.whole()
        except AnexError:
            tell_charge(exchange, meter.price_nano(refused=True))
            raise
        except asyncio.CancelledError:
            # Nobody but the end of the process does this.
            meter.end("failed")
            raise


async def _repeat(exchange: Exchange, kept: Kept, *, stream: bool) -> None:
    if stream:
        await exchange.begin(sse.HEADERS)
        await exchange.send({"type": "http.response.body", "body": kept.body})
    else:
        tell_charge(exchange, kept.charged_nano)
        await exchange.answer_bytes(200, kept.body)
