"""The models that answer in the playground: sold in realtime on the OpenAI host, and with a server that answers now."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from billing import price_cards
from billing.pricing import Rates
from inference import catalogue
from inference.backends import registry
from inference.catalogue.schema import Model, Task
from inference.requests.profiles import V1
from realtime.models.document import is_offered
from realtime.models.parameters import descriptors

# What has a field on the page; the rest of a model's parameters is for programs. In the order of the fields.
_NUMBERS: Final[dict[str, tuple[str, str]]] = {
    "max_tokens": ("Longest answer, in tokens", "1"),
    "temperature": ("Temperature", "0.1"),
    "top_p": ("Top p", "0.05"),
    "top_k": ("Top k", "1"),
    "min_p": ("Min p", "0.05"),
    "frequency_penalty": ("Frequency penalty", "0.1"),
    "presence_penalty": ("Presence penalty", "0.1"),
    "repetition_penalty": ("Repetition penalty", "0.05"),
    "seed": ("Seed", "1"),
    "dimensions": ("Dimensions", "1"),
}


@dataclass(frozen=True, slots=True)
class Talker:
    """A model of the playground and its realtime rates."""

    model: Model
    rates: Rates


@dataclass(frozen=True, slots=True)
class Field:
    """A number that a model takes: its range, either end open where it is None, and the step of its input."""

    name: str
    label: str
    step: str
    low: float | None
    high: float | None

    @property
    def is_usual(self) -> bool:
        """Whether most people look for it."""
        return self.name in ("max_tokens", "temperature", "dimensions")


@dataclass(frozen=True, slots=True)
class Company:
    """Who can be asked, the cheapest first, and the models that an operator switched off, with the reason."""

    talkers: list[Talker]
    off: list[tuple[str, str]]


def company(task: Task, *, organization_id: UUID, region: str) -> Company:
    """The models of a task that an organization can ask in a region now."""
    standing = registry.standing(region)
    served = {server.model_id for server in standing.servers}
    sold = []
    for model in catalogue.all_models():
        card = price_cards.current(model.id)
        mine = model.task == task and model.is_for(organization_id) and region in model.regions
        if mine and card and card.realtime and is_offered(model, card, V1):
            sold.append(Talker(model, card.realtime))
    return Company(
        sorted((each for each in sold if each.model.id in served), key=_order),
        [(each.model.id, standing.off[each.model.id]) for each in sold if each.model.id in standing.off],
    )


def number_fields(model: Model) -> Iterator[Field]:
    """The numbers a model takes."""
    taken = descriptors(model)
    for name, (label, step) in _NUMBERS.items():
        told = taken.get(name)
        # There is nothing to choose where both ends are the same.
        if told is not None and (told.get("min") is None or told.get("min") != told.get("max")):
            yield Field(name, label, step, told.get("min"), told.get("max"))


def thinking(model: Model) -> tuple[tuple[str, str], ...]:
    """How a model can be told to think, as values and their words; none for one that never does."""
    if model.reasoning == "none" or "reasoning" not in descriptors(model):
        return ()
    levels = tuple((level, level.capitalize()) for level in model.effort_levels)
    return (("off", "Off"), *(levels or (("on", "On"),)))


def takes_json(model: Model) -> bool:
    """Whether answers can be promised to be JSON."""
    return "response_format" in descriptors(model)


def example(task: Task, model: Model) -> dict[str, Any]:
    """The request that the page starts with."""
    return {"model": model.id, **_EXAMPLES[task]}


def questions(body: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The questions of a decision request as the page's fields: options and levels one a line."""
    for name, asked in body.get("questions", {}).items():
        criteria = asked.get("criteria", [])
        lines = [f"{key}: {meaning}" for key, meaning in criteria.items()] if isinstance(criteria, dict) else criteria
        yield {"name": name, "type": asked["type"], "instructions": asked["instructions"], "criteria": "\n".join(lines)}


def curl(url: str, body: dict[str, Any]) -> str:
    """A request for a shell, the key in a variable; the page writes the same once its fields change."""
    sent = json.dumps(body, indent=2, ensure_ascii=False).replace("'", "'\\''")
    return (
        f"curl{' --no-buffer' if body.get('stream') else ''} {url} \\\n"
        '  -H "Authorization: Bearer $ANEX_API_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{sent}'"
    )


def _order(talker: Talker) -> tuple[int, int, str]:
    return talker.rates.output, talker.rates.input, talker.model.id


_EXAMPLES: Final[dict[Task, dict[str, Any]]] = {
    "chat": {
        "messages": [{"role": "user", "content": "Name three rivers in Europe and the sea each of them reaches."}],
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    "embed": {
        "input": [
            "The reading room stays open until midnight.",
            "How long can I study in the library?",
            "The soup is still hot.",
        ],
        "encoding_format": "float",
    },
    "decide": {
        "state": "We were charged twice for March. Please refund one of the two payments today.",
        "questions": {
            "team": {
                "type": "choice",
                "instructions": "Which team should handle this message?",
                "criteria": {
                    "billing": "invoices, payments and refunds",
                    "technical": "faults and failures of the product",
                    "other": "anything else",
                },
            },
            "urgent": {"type": "noul", "instructions": "Does the writer need an answer today?"},
            "mood": {
                "type": "score",
                "instructions": "How upset is the writer?",
                "criteria": ["calm", "annoyed", "angry"],
            },
        },
    },
}
