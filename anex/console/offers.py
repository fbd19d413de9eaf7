"""The models a person can pick for a job: for sale, and with a server that answers now."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import UUID

from billing import price_cards
from billing.pricing import Fees, PriceCard, Rates
from inference import catalogue
from inference.backends import registry
from inference.catalogue.schema import Model
from jobs.selectors.offers import is_for_sale

_TASKS: Final = ("chat", "embed", "decide")
URLS: Final = {"chat": "/v1/chat/completions", "embed": "/v1/embeddings", "decide": "/v1/systemone"}


@dataclass(frozen=True)
class Offer:
    """A model on sale and the card it is sold by, whose rates are nano-dollars per million tokens."""

    model: Model
    card: PriceCard

    @property
    def url(self) -> str:
        """What the rows of its files name."""
        return URLS[self.model.task]

    @property
    def text(self) -> Rates:
        """What rows without media cost."""
        return self.card.text

    @property
    def media(self) -> Rates | None:
        """What rows with media cost, where the model takes any."""
        return self.card.media

    @property
    def fees(self) -> Fees | None:
        """What items and their length cost on top of their tokens; None where that is nothing."""
        return self.card.fees if self.card.fees != Fees() else None

    @property
    def hour(self) -> Rates | None:
        """What text rows cost in a job within an hour, where the model is sold so."""
        return self.card.within("1h").text if "1h" in self.card.windows else None

    @cached_property
    def takes(self) -> frozenset[str]:
        """The options of a job that the model takes, as the form names them."""
        model = self.model
        if model.task == "embed":
            widths = model.embedding
            return frozenset({"dimensions"} if widths and widths.min_dimensions < widths.dimensions else ())
        if model.task == "decide":
            return frozenset()
        taken = {"max_output_tokens", "temperature", "response_format"}
        if model.reasoning != "none":
            taken.add("reasoning")
        if model.takes_budget:
            taken.add("reasoning_budget")
        if model.effort_levels:
            taken.add("reasoning_effort")
        if self.most_fps:
            taken.add("video_fps")
        return frozenset(taken)

    @property
    def switches(self) -> str:
        """`takes` as words that a selector of the style sheet can name."""
        return " ".join(sorted(name.replace("_", "-") for name in self.takes))

    @property
    def most_fps(self) -> float | None:
        """The highest sampling rate of clips that can be asked for."""
        video = self.model.media.video if self.model.media else None
        return video.max_fps if video else None


def current(*, organization_id: UUID, region: str) -> list[Offer]:
    """The models offered to an organization in a region now: chat, embedding, decision models, the cheapest first."""
    served = {server.model_id for server in registry.live(region)}
    found = []
    for model in catalogue.all_models():
        card = price_cards.current(model.id)
        sold = is_for_sale(model, organization_id=organization_id, region=region)
        if model.id in served and sold and card is not None:
            found.append(Offer(model, card))
    return sorted(found, key=_order)


def switched_off(*, organization_id: UUID, region: str) -> list[tuple[str, str]]:
    """The models that an organization could pick if an operator had not switched them off, and why that was done."""
    off = registry.standing(region).off
    named = (model for model in catalogue.all_models() if model.id in off)
    return [
        (model.id, off[model.id])
        for model in named
        if is_for_sale(model, organization_id=organization_id, region=region)
    ]


def _order(offer: Offer) -> tuple[int, int, int, str]:
    return _TASKS.index(offer.model.task), offer.text.output, offer.text.input, offer.model.id
