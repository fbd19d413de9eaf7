"""Which models a surface answers: the catalogue names the surface, the price is known, a server is there."""

from typing import Final, NamedTuple

from django.conf import settings

from anex.core.errors import InvalidRequest, NotFound, NotServed
from billing import price_cards
from billing.pricing import PriceCard
from inference import catalogue
from inference.catalogue.schema import Model, Task
from inference.requests.profiles import V1, Profile
from realtime.models.document import is_meant_for, is_offered
from realtime.servers import Servers

_CALLS: Final[dict[Task, str]] = {"chat": "/chat/completions", "embed": "/embeddings", "decide": "/systemone"}


class Offer(NamedTuple):
    """A model that is answered for, and its price."""

    model: Model
    card: PriceCard


def find(model_id: str, task: Task, *, profile: Profile, servers: Servers) -> Offer:
    """The model a request of a task names.

    NotFound (404), InvalidRequest (400) for a model of another task, NotServed (501) where the surface does not have
    it, Unavailable (503) while no server is there.
    """
    model = catalogue.get(model_id)
    if model is None:
        raise unknown(model_id)
    if model.task != task and is_meant_for(model, profile):
        # Of OpenAI's two surfaces one answers decisions.
        home = V1 if model.task == "decide" and profile.offered_as == V1.offered_as else profile
        raise InvalidRequest(f"model '{model_id}' is served by POST {home.name}{_CALLS[model.task]}", param="model")
    card = price_cards.current(model_id)
    if card is None or model.task != task or not is_offered(model, card, profile) or not _is_here(model):
        raise NotServed(f"model '{model_id}' is not served in realtime here; use the batch API", param="model")
    if not servers.serve(model_id):
        raise servers.absence(model_id)
    return Offer(model, card)


def unknown(model_id: str) -> NotFound:
    """The 404 of a model that does not exist, for this organization or at all."""
    return NotFound(f"unknown model '{model_id[:64]}'", code="model_not_found", param="model")


def listed(profile: Profile, servers: Servers) -> tuple[dict[str, Model], dict[str, PriceCard]]:
    """The models anybody may see on a surface, and their prices."""
    cards = {model.id: card for model in catalogue.all_models() if (card := price_cards.current(model.id))}
    models = {
        model.id: model
        for model in catalogue.all_models()
        if model.organization is None
        and _is_here(model)
        and servers.serve(model.id)
        and is_offered(model, cards.get(model.id), profile)
    }
    return models, cards


def _is_here(model: Model) -> bool:
    return settings.ANEX_REGION in model.regions
