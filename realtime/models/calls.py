"""`GET /v1/models`, `/v1/models/{model}`, the same on `/openai/v1`, and `/realtime/v1/models`: no key is asked for."""

from realtime import offers
from realtime.house import House
from realtime.http import Exchange
from realtime.models import document


async def provider_models(exchange: Exchange, house: House) -> None:
    """The chat and embedding models of an OpenAI-compatible surface."""
    models, cards = offers.listed(exchange.profile, house.servers)
    await exchange.answer(document.provider_list(models.values(), cards))


async def provider_model(exchange: Exchange, house: House) -> None:
    """One of them; NotFound (404)."""
    name = exchange.scope["url_route"]["kwargs"]["model"]
    models, cards = offers.listed(exchange.profile, house.servers)
    entry = document.find_entry(name, models, cards)
    if entry is None:
        raise offers.unknown(name)
    await exchange.answer(entry)


async def native_models(exchange: Exchange, house: House) -> None:
    """The embedding and decision models of the realtime API."""
    models, cards = offers.listed(exchange.profile, house.servers)
    await exchange.answer(document.native_list(models.values(), cards, exchange.profile))
