"""Typed decisions by similarity: each option is compared with the text, and a softmax makes it a distribution.

A stand-in for a decision model, for development: it knows what a text is about, hardly what is asked about it.
"""

import math
from collections.abc import Mapping
from operator import mul
from typing import Any

from inference.catalogue.schema import Decisions
from inference.engines.minilm.encoder import WINDOW, Encoder
from inference.engines.questions import options_of, refusal
from inference.requests.decisions import DecisionRow

# Chosen on twenty decisions of our own (none of the tests'), as everything that is tuned here.
_TEMPERATURE = 0.05
_SPECIAL_TOKENS = 2
ROUTING = {
    "model": "minilm-l6-v2",
    "reason": "embedding similarity between the text and each option: a development stand-in for a decision model",
}

Ids = tuple[int, ...]


def decide(row: DecisionRow, encoder: Encoder, limits: Decisions) -> dict[str, Any]:
    """The answers to a row and what it read: the text once per question, beside the question's own words.

    Raises `Refusal` for the first question that cannot be answered as written.
    """
    asked = {name: options_of(name, question) for name, question in row.questions.items()}
    text, answers, read = encoder.ids(row.text), {}, 0
    for name, options in asked.items():
        question = row.questions[name]
        share = _share(name, options, encoder, limits.option_tokens)
        words = [encoder.ids(f"{key} {meaning}")[:share] for key, meaning in options.items()]
        used = len(encoder.ids(question["instructions"])) + sum(map(len, words))
        room = WINDOW - _SPECIAL_TOKENS - used
        if room < 1:
            raise refusal(name, f"takes {used} tokens: it leaves no room for the text in a window of {WINDOW}")
        seen = text[:room]
        read += len(seen) + used
        likeness = {
            key: _likeness(encoder, seen, encoder.ids(_shown(question["type"], key, meaning))[:share])
            for key, meaning in options.items()
        }
        answers[name] = _answer(question["type"], _softmax(likeness))
    return {"answers": answers, "usage": {"input_tokens": read, "output_tokens": 0}, "routing": ROUTING}


def _share(name: str, options: Mapping[str, str], encoder: Encoder, budget: int) -> int:
    """The tokens that are read of each option. Refuses options whose names alone exceed the budget they share."""
    if (needed := sum(len(encoder.ids(key)) for key in options)) > budget:
        raise refusal(name, f"has options whose names take {needed} tokens: they share a budget of {budget}")
    return budget // len(options)


def _shown(kind: str, key: str, text: str) -> str:
    """An option as it is compared: what it means, and its name where that is a word of the customer's."""
    if kind == "choice":
        return f"{key}: {text}" if text else key
    return text or {"true": "yes", "false": "no"}.get(key, key)


def _likeness(encoder: Encoder, seen: Ids, option: Ids) -> float:
    """The cosine of two texts; exact to the last digit whatever else is asked."""
    return math.fsum(map(mul, encoder.vector(seen), encoder.vector(option)))


def _softmax(likeness: Mapping[str, float]) -> dict[str, float]:
    """Probabilities; a sum without rounding, so that the order of options cannot show."""
    most = max(likeness.values())
    weights = {key: math.exp((value - most) / _TEMPERATURE) for key, value in likeness.items()}
    total = math.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def _answer(kind: str, chances: dict[str, float]) -> dict[str, Any]:
    if kind == "noul":
        return {"type": kind, "noul": chances["true"]}
    return {"type": kind, "probabilities": chances}
