"""The models a person can pick: for sale, and with a server that answers now."""

from dataclasses import dataclass
from uuid import UUID

from billing import price_cards
from inference import catalogue
from inference.backends import registry
from jobs.selectors.offers import is_for_sale


@dataclass(frozen=True, slots=True)
class Offer:
    """A model on sale; prices are nano-dollars per million tokens. What encodes or decides writes nothing.

    `hour_percent` of them is what a job within an hour costs, where the model is sold so.
    """

    model_id: str
    task: str
    inputs: tuple[str, ...]
    context_tokens: int
    max_output_tokens: int | None
    input_nano: int
    output_nano: int
    prices_media_apart: bool
    minimum_job_cents: int
    hour_percent: int | None


_TASKS = ("chat", "embed", "decide")


def current(*, organization_id: UUID, region: str) -> list[Offer]:
    """The models offered to an organization in a region now: chat, embedding, decision models, the cheapest first."""
    served = {server.model_id for server in registry.live(region)}
    found = []
    for model in catalogue.all_models():
        card = price_cards.current(model.id)
        sold = is_for_sale(model, organization_id=organization_id, region=region)
        if model.id not in served or not sold or card is None:
            continue
        found.append(
            Offer(
                model_id=model.id,
                task=model.task,
                inputs=model.inputs,
                context_tokens=model.context_tokens,
                max_output_tokens=model.max_output_tokens,
                input_nano=card.text.input,
                output_nano=card.text.output,
                prices_media_apart=card.media is not None,
                minimum_job_cents=card.minimum_job_cents,
                hour_percent=card.windows.get("1h"),
            )
        )
    return sorted(
        found, key=lambda offer: (_TASKS.index(offer.task), offer.output_nano, offer.input_nano, offer.model_id)
    )
