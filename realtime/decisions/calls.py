"""`POST /v1/systemone` and `/realtime/v1/systemone` (references 000, decisions, and 001, realtime decisions)."""

import asyncio
from typing import Any, Final

from anex.core.usage import Usage
from inference import tokens
from inference.backends.answers import Refused
from inference.backends.client import Client
from inference.backends.registry import Server
from inference.catalogue.schema import Model
from inference.refusals import RowError
from inference.requests import decision_request, decisions
from inference.requests.bodies import refused
from inference.requests.decisions import DecisionRow
from inference.requests.options import RowOptions
from inference.requests.profiles import Profile
from realtime.decisions import answers
from realtime.handling import admit, read_request, refusal
from realtime.house import House
from realtime.http import Exchange, Watched
from realtime.offers import Offer
from realtime.threads import aside, in_thread

# Counted here; what another server would count is left to its refusal.
_COUNTED: Final = ("file", "words")


async def decide(exchange: Exchange, house: House) -> None:
    """Answer one decision request; its body may be compressed."""
    offer, asked = await read_request(
        exchange,
        house,
        "decide",
        lambda body, model, profile: decision_request.read(body, model=model, profile=profile),
        decodes=True,
    )
    most = await aside(exchange.is_long, decision_request.most_usage, asked, offer.model)
    async with Watched(exchange.receive):
        with await admit(exchange, house, offer, surface="decisions", most=most) as meter:
            await _check_window(asked, offer.model, exchange.profile)
            async with asyncio.timeout(house.patience.answer_s or exchange.profile.answer_s):
                answer, used = await _ask(house, offer, asked, exchange)
            if used is not None:
                meter.report(used)
            body = answers.body(asked, answer, model_id=offer.model.id, usage=meter.billed())
            await meter.finish()
            await exchange.answer(body)


async def _check_window(asked: DecisionRow, model: Model, profile: Profile) -> None:
    """Refuse a state that is too long for a question, where the surface does not cut it."""
    if profile.cuts_states or model.tokenizer not in _COUNTED or decision_request.surely_fits(asked, model):
        return
    whole = decision_request.single_questions(asked)
    bare = [decision_request.without_options(one) for one in whole]
    counts = []
    for count in await in_thread(tokens.count_rows, model, [*whole, *bare], options=RowOptions()):
        if isinstance(count, RowError):
            raise refused(count, profile)
        counts.append(count.input_tokens)
    read = {
        name: decision_request.tokens_read(with_options, without, model)
        for name, with_options, without in zip(asked.questions, counts, counts[len(whole) :], strict=False)
    }
    decision_request.check_window(read, asked, model=model, profile=profile)


async def _ask(
    house: House, offer: Offer, asked: DecisionRow, exchange: Exchange
) -> tuple[dict[str, Any], Usage | None]:
    async def ask(client: Client, server: Server) -> tuple[dict[str, Any], Usage | None]:
        body = await aside(exchange.is_long, decisions.write, asked, served_name=server.served_name)
        answer = await client.complete(server, "/systemone", body, timeout_s=exchange.profile.answer_s)
        if answer.status != 200:
            raise Refused(answer)
        answers.check(asked, answer.body)
        return answer.body, answer.usage

    try:
        return await house.upstream.complete(offer.model.id, ask)
    except Refused as refused_:
        raise refusal(refused_.answer, offer.model) from None
