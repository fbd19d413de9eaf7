"""`POST /v1/embeddings` and `/realtime/v1/embeddings` (reference 000, embeddings; 001, realtime embeddings)."""

import asyncio
from collections.abc import Coroutine, Iterable
from functools import partial
from typing import Any, Final

from anex.core.usage import Usage
from inference.backends.answers import Answer, Refused
from inference.backends.client import Client
from inference.backends.registry import Server
from inference.requests import embedding_request
from inference.requests.embedding_request import Call, EmbeddingRequest
from realtime import media
from realtime.embeddings import answers
from realtime.handling import admit, read_request, refusal, tell_charge
from realtime.house import House
from realtime.http import Exchange, Watched
from realtime.offers import Offer
from realtime.threads import aside

# More are read and written beside the event loop.
_LONG_NUMBERS: Final = 16_384

Found = list[tuple[Call, list[list[float]]]]


async def embed(exchange: Exchange, house: House) -> None:
    """Answer one embeddings request."""
    offer, asked = await read_request(
        exchange,
        house,
        "embed",
        lambda body, model, profile: embedding_request.read(body, model=model, profile=profile),
    )
    exchange.tell_ignored(asked.ignored)
    most = embedding_request.most_usage(asked, offer.model)
    async with Watched(exchange.receive):
        with await admit(exchange, house, offer, surface="embeddings", most=most) as meter:
            async with asyncio.timeout(house.patience.answer_s or exchange.profile.answer_s):
                if asked.media:
                    stored = house.stored(meter.admitted.caller.organization_id)
                    ready = await media.prepare(asked.media, model=offer.model, profile=exchange.profile, stored=stored)
                    asked = embedding_request.with_media(asked, ready.parts)
                    meter.sent(ready.items)
                found, used = await _ask(house, offer, asked, exchange)
            if used is not None:
                meter.report(used)
            nano = meter.price_nano() if exchange.profile.tells_charge else None
            told: dict[str, Any] = {"model_id": offer.model.id, "usage": meter.billed(), "charged_nano": nano}
            answer = await aside(_is_long(asked), partial(answers.write, asked, found, **told))
            await meter.finish()
            if nano is not None:
                tell_charge(exchange, nano)
            await exchange.answer_bytes(200, answer)


def _is_long(asked: EmbeddingRequest) -> bool:
    return len(asked.inputs) * asked.dimensions > _LONG_NUMBERS


async def _ask(house: House, offer: Offer, asked: EmbeddingRequest, exchange: Exchange) -> tuple[Found, Usage | None]:
    """The vectors and what was reported for them, None where a call has no report."""

    async def ask(client: Client, server: Server) -> tuple[Found, Usage | None]:
        is_long = exchange.is_long or bool(asked.media)
        calls = await aside(is_long, embedding_request.write, asked, served_name=server.served_name)
        replies = await _all(
            client.complete(server, "/embeddings", call.body, timeout_s=exchange.profile.answer_s) for call in calls
        )
        found = await aside(_is_long(asked), _read, calls, replies)
        return found, _total(replies)

    try:
        return await house.upstream.complete(offer.model.id, ask)
    except Refused as refused:
        await media.check_pictures(asked.media, profile=exchange.profile)
        error = refusal(refused.answer, offer.model)
        if exchange.profile.names_faults and error.code == "context_length_exceeded":
            error.code = "input_too_long"
        raise error from None


def _read(calls: list[Call], replies: list[Answer]) -> Found:
    return [(call, answers.read_vectors(reply.body, call)) for call, reply in zip(calls, replies, strict=True)]


async def _all(calls: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """The answers to all calls, which run at once; the first fault or refusal ends the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_accepted(call)) for call in calls]
    except ExceptionGroup as faults:
        raise faults.exceptions[0] from None
    return [task.result() for task in tasks]


async def _accepted(call: Coroutine[Any, Any, Answer]) -> Answer:
    answer = await call
    if answer.status != 200:
        raise Refused(answer)
    return answer


def _total(replies: list[Answer]) -> Usage | None:
    total = Usage()
    for reply in replies:
        if reply.usage is None:
            return None
        total += reply.usage
    return total
