"""The models a person can pick: in the catalogue, priced, and with a server that answers now."""

from dataclasses import dataclass

from billing import price_cards
from inference import catalogue
from inference.backends import registry


@dataclass(frozen=True, slots=True)
class Offer:
    """A chat model on sale; prices are nano-dollars per million tokens."""

    model_id: str
    context_tokens: int
    max_output_tokens: int | None
    input_nano: int
    output_nano: int
    minimum_job_cents: int


def chat(region: str) -> list[Offer]:
    """The chat models offered in a region now, the cheapest output first."""
    served = {server.model_id for server in registry.live(region)}
    found = []
    for model in catalogue.all_models():
        card = price_cards.current(model.id)
        if model.task != "chat" or not model.countable or card is None or model.id not in served:
            continue
        found.append(
            Offer(
                model_id=model.id,
                context_tokens=model.context_tokens,
                max_output_tokens=model.max_output_tokens,
                input_nano=card.text.input,
                output_nano=card.text.output,
                minimum_job_cents=card.minimum_job_cents,
            )
        )
    return sorted(found, key=lambda offer: (offer.output_nano, offer.model_id))
