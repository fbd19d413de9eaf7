"""The lists of models of each surface: no key is asked for. On `/openai/v1` a key tells what its plan allows."""

from accounts.plans import DEFAULT_PLAN, PlanTerms
from accounts.services import keys
from realtime import offers
from realtime.house import House
from realtime.http import Exchange
from realtime.models import capabilities, document
from realtime.threads import in_thread


async def provider_models(exchange: Exchange, house: House) -> None:
    """The chat and embedding models of the OpenAI-compatible host."""
    models, cards = offers.listed(exchange.profile, house.servers)
    await exchange.answer(document.provider_list(models.values(), cards))


async def provider_model(exchange: Exchange, house: House) -> None:
    """One of them; NotFound (404)."""
    name = _name(exchange)
    models, cards = offers.listed(exchange.profile, house.servers)
    entry = document.find_entry(name, models, cards)
    if entry is None:
        raise offers.unknown(name)
    await exchange.answer(entry)


async def capable_models(exchange: Exchange, house: House) -> None:
    """The same models, and what each can do; Unauthenticated (401) for a key that is none."""
    models, cards = offers.listed(exchange.profile, house.servers)
    await exchange.answer(capabilities.listing(models.values(), cards, await _plan(exchange)))


async def capable_model(exchange: Exchange, house: House) -> None:
    """One of them; NotFound (404)."""
    name = _name(exchange)
    models, cards = offers.listed(exchange.profile, house.servers)
    entry = capabilities.entry(models[name], cards, await _plan(exchange)) if name in models else None
    if entry is None:
        raise offers.unknown(name)
    await exchange.answer(entry)


async def native_models(exchange: Exchange, house: House) -> None:
    """The embedding and decision models of the realtime API."""
    models, cards = offers.listed(exchange.profile, house.servers)
    await exchange.answer(document.native_list(models.values(), cards, exchange.profile))


def _name(exchange: Exchange) -> str:
    name: str = exchange.scope["url_route"]["kwargs"]["model"]
    return name


async def _plan(exchange: Exchange) -> PlanTerms:
    header = exchange.header(b"authorization")
    return DEFAULT_PLAN if header is None else (await in_thread(keys.authenticate, header)).plan
