"""Typed decisions (`/v1/systemone`): answers with probabilities that follow from state and question. Pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from inference.counting.words import count_words
from inference.engines.questions import options_of
from inference.engines.refusals import Refusal
from inference.engines.scripted import bodies
from inference.engines.scripted.prose import digest


def state_of(request: Mapping[str, Any]) -> str:
    """The text the questions are about; an object is read as its JSON."""
    state = request.get("state")
    if isinstance(state, str):
        return state
    if isinstance(state, dict):
        return orjson.dumps(state).decode()
    raise Refusal("state must be a text or an object.", param="state", status=422)


def whole(request: Mapping[str, Any], *, usage_kind: str) -> dict[str, Any]:
    """The body of an answer: one entry per question, the state counted once for each."""
    state, questions = state_of(request), request.get("questions")
    if not isinstance(questions, dict) or not questions:
        raise Refusal("questions must be a non-empty object.", param="questions", status=422)
    answers, tokens = {}, 0
    for name, question in questions.items():
        options = options_of(name, question)
        text = " ".join([question["instructions"], *(f"{key} {words}" for key, words in options.items())])
        tokens += count_words(state) + count_words(text)
        answers[name] = _answer(question["type"], options, _probabilities(state, text, len(options)))
    counts = bodies.usage(usage_kind, prompt_tokens=tokens, completion_tokens=0)
    if counts.get("usage"):
        true = counts["usage"]
        counts = {"usage": {"input_tokens": true["prompt_tokens"], "output_tokens": true["completion_tokens"]}}
    routing = {"model": "scripted", "reason": "the only one"}
    return {"model": request.get("model") or "scripted", "answers": answers, **counts, "routing": routing}


def _probabilities(state: str, question: str, count: int) -> list[float]:
    weights = [1 + byte * byte for byte in digest(state, question, size=count)]
    return [weight / sum(weights) for weight in weights]


def _answer(kind: str, options: Mapping[str, str], chances: list[float]) -> dict[str, Any]:
    best = max(range(len(chances)), key=chances.__getitem__)
    if kind == "noul":
        return {"type": kind, "noul": chances[0], "confidence": max(chances), "answer_confidence": max(chances)}
    probabilities = dict(zip(options, chances, strict=True))
    even = 1 / len(chances)
    confidence = 1.0 if len(chances) == 1 else (chances[best] - even) / (1 - even)
    answer = {"type": kind, "probabilities": probabilities, "answer_confidence": chances[best]}
    if kind == "choice":
        return {**answer, "choice": list(options)[best], "confidence": confidence}
    spread = sum(chance * abs(level - best) for level, chance in enumerate(chances))
    uniform = sum(abs(level - best) for level in range(len(chances))) * even
    return {
        **answer,
        "score": sum(level * chance for level, chance in enumerate(chances)),
        "legend": dict(options),
        "confidence": max(0.0, 1 - spread / uniform) if uniform else 1.0,
    }
