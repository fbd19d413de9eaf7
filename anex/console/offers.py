"""The models a person can pick: for sale, and with a server that answers now."""

from dataclasses import dataclass
from uuid import UUID

from billing import price_cards
from inference import catalogue
from inference.backends import registry
from jobs.selectors.offers import is_for_sale


@dataclass(frozen=True, slots=True)
class Offer:
    """A chat model on sale; prices are nano-dollars per million tokens."""

    model_id: str
    context_tokens: int
    max_output_tokens: int | None
    input_nano: int
    output_nano: int
    minimum_job_cents: int


def chat(*, organization_id: UUID, region: str) -> list[Offer]:
    """The chat models offered to an organization in a region now, the cheapest output first."""
    served = {server.model_id for server in registry.live(region)}
    found = []
    for model in catalogue.all_models():
        card = price_cards.current(model.id)
        sold = is_for_sale(model, organization_id=organization_id, region=region)
        if model.task != "chat" or model.id not in served or not sold or card is None:
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
