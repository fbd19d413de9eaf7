"""The lists of models: OpenRouter's provider document 2.4 with OpenAI's fields beside it, and the realtime API's.

Pure: made of the catalogue and price cards that are passed in. What nobody published is left out, never set to zero.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from billing.pricing import PriceCard
from inference.catalogue.schema import HubWeights, Model
from inference.requests.profiles import V1, Profile
from realtime.models.media import input_modality
from realtime.models.parameters import descriptors, longest_answer
from realtime.models.prices import output_prices

SCHEMA_VERSION: Final = "2.4"
OWNER: Final = "anex"
_QUANTIZATIONS: Final = frozenset(
    {"int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32"}
)

Cards = Mapping[str, PriceCard]


def is_meant_for(model: Model, profile: Profile) -> bool:
    """Whether the model names the surface."""
    return model.realtime is not None and profile.offered_as in model.realtime.surfaces


def is_offered(model: Model, card: PriceCard | None, profile: Profile) -> bool:
    """Whether a surface serves the model: it names the surface, and its realtime price is known."""
    return is_meant_for(model, profile) and card is not None and card.realtime is not None


def provider_list(models: Iterable[Model], cards: Cards) -> dict[str, Any]:
    """`GET /v1/models`: chat and embedding models; decision models are not on it (reference 000, models)."""
    entries = [provider_entry(model, cards[model.id]) for model in models if _is_listed(model, cards)]
    return {"object": "list", "data": entries}


def provider_entry(model: Model, card: PriceCard) -> dict[str, Any]:
    """One model of the list, and the answer of `GET /v1/models/{model}`."""
    weights = model.weights if isinstance(model.weights, HubWeights) else None
    precision = (weights.precision or "").lower() if weights else ""
    entry: dict[str, Any] = {
        "object": "model",
        "created": int(card.starts_at.timestamp()),
        "owned_by": OWNER,
        "schema_version": SCHEMA_VERSION,
        "id": model.id,
        "name": model.id,
        "quantization": precision if precision in _QUANTIZATIONS else None,
        "input_modalities": [input_modality(model, kind, card) for kind in model.inputs],
        "output_modalities": [_output(model, card)],
    }
    if weights:
        entry["hugging_face_id"] = weights.repository
    if model.realtime and model.realtime.concurrency:
        entry["capacity"] = [{"type": "concurrency", "unit": "request", "value": model.realtime.concurrency}]
    return entry


def find_entry(model_id: str, models: Mapping[str, Model], cards: Cards) -> dict[str, Any] | None:
    """The entry of a model on the list; None for every other."""
    model = models.get(model_id)
    return provider_entry(model, cards[model_id]) if model and _is_listed(model, cards) else None


def native_list(models: Iterable[Model], cards: Cards, profile: Profile) -> dict[str, Any]:
    """`GET /realtime/v1/models` (reference 003, ModelList): embedding and decision models."""
    entries = [
        _native_entry(model)
        for model in models
        if model.task != "chat" and is_offered(model, cards.get(model.id), profile)
    ]
    return {"object": "list", "data": entries}


def _is_listed(model: Model, cards: Cards) -> bool:
    return model.task != "decide" and is_offered(model, cards.get(model.id), V1)


def _output(model: Model, card: PriceCard) -> dict[str, Any]:
    parameters = descriptors(model)
    if model.task == "embed":
        return {"type": "embeddings", "supported_parameters": parameters}
    return {
        "type": "text",
        "supported_parameters": parameters,
        "streaming": True,
        "max_length": {"value": longest_answer(model), "unit": "token"},
        "pricing": output_prices(card, thinks=model.reasoning != "none"),
    }


def _native_entry(model: Model) -> dict[str, Any]:
    widths = model.embedding
    return {
        "id": model.id,
        "object": "model",
        "task": model.task,
        "embedding_dims": widths.dimensions if widths else None,
        "min_embedding_dims": widths.min_dimensions if widths else None,
    }
