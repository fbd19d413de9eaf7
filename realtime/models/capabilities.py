"""What each model of `/openai/v1` can do and how long its context and its answers are (reference 004). Pure."""

from collections.abc import Iterable
from typing import Any, Final

from accounts.plans import PlanTerms
from inference.catalogue.schema import Model
from realtime.models.document import Cards, find_entry
from realtime.models.parameters import longest_answer

# Of a model that thinks and has no levels every word but none is the same.
_ON: Final = "medium"


def listing(models: Iterable[Model], cards: Cards, plan: PlanTerms) -> dict[str, Any]:
    """`GET /openai/v1/models`: the models that are listed on `/v1`, and what a plan lets its keys ask of them."""
    entries = [entry(model, cards, plan) for model in models]
    return {"object": "list", "data": [each for each in entries if each is not None]}


def entry(model: Model, cards: Cards, plan: PlanTerms) -> dict[str, Any] | None:
    """One of them; None for a model that is not listed."""
    listed = find_entry(model.id, {model.id: model}, cards)
    if listed is None:
        return None
    longest = plan.cap(longest_answer(model)) if model.task == "chat" else None
    told = {"context_window": model.context_tokens, "max_output_tokens": longest}
    if model.task != "chat":
        return listed | told | {"capabilities": _embeddings(model)}
    return listed | told | {"history_budget_bytes": plan.history_budget_bytes, "capabilities": _chat(model)}


def _chat(model: Model) -> dict[str, Any]:
    taken = model.realtime.parameters if model.realtime else ()
    has_forms = "response_format" in taken
    return {
        "streaming": True,
        "input": list(model.inputs),
        "tools": "tools" in taken,
        "response_format": ["text", "json_object", "json_schema"] if has_forms else ["text"],
        "reasoning_effort": ["none", *(model.effort_levels or (_ON,))] if model.reasoning != "none" else [],
        "parameters": list(taken),
    }


def _embeddings(model: Model) -> dict[str, Any]:
    widths = model.embedding
    assert widths
    return {"input": list(model.inputs), "dimensions": {"min": widths.min_dimensions, "max": widths.dimensions}}
