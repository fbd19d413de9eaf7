"""What a System One server answered, made the same whichever server it was (reference 001, question types). Pure.

Servers differ: one names yes and no where another names true and false, one gives a yes-or-no question no
probabilities, each has a confidence of its own. What customers read is computed here from the probabilities alone; see
docs/decisions/decision-confidence.md. Further fields of a server are kept.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from anex.core.usage import Usage
from inference.requests.decisions import DecisionRow, options

# Probabilities that were rounded before they were sent still count as whole.
_SLACK = 0.02
_TIE = 1e-9
_NO_ROUTING = "the server that answered does not choose between checkpoints"


class Nonsense(ValueError):
    """The server's answer cannot be what it was asked for."""


def complete(row: DecisionRow, body: Mapping[str, Any], *, usage: Usage) -> dict[str, Any]:
    """The answer as it is delivered: an entry per question, in the row's order. Raises `Nonsense`.

    `usage` is what the row is billed; a decision has no output tokens.
    """
    model = body.get("model")
    given = body.get("routing")
    routing = given if isinstance(given, dict) else {"model": model, "reason": _NO_ROUTING}
    counts = {"input_tokens": usage.input_tokens, "output_tokens": 0}
    return {**body, "answers": read(row, body), "usage": counts, "routing": routing}


def read(row: DecisionRow, body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The completed answer to each question. Raises `Nonsense`; an answer to a question nobody asked is left out."""
    answers = body.get("answers")
    if not isinstance(answers, Mapping):
        raise Nonsense("There are no answers.")
    return {name: _answer(question, answers.get(name)) for name, question in row.questions.items()}


def is_whole(row: DecisionRow, body: Mapping[str, Any]) -> bool:
    """Whether a body answers every question of a row with something that can be believed."""
    try:
        read(row, body)
    except Nonsense:
        return False
    return True


def confidence(chances: Iterable[float]) -> float:
    """How concentrated a distribution is: 1 - H / ln n, from 0 (all options alike) to 1 (one is certain).

    H is the entropy in nats, n the number of options. A single option is certain.
    """
    known = list(chances)
    if len(known) < 2:
        return 1.0
    entropy = -math.fsum(chance * math.log(chance) for chance in known if chance > 0)
    return min(1.0, max(0.0, 1.0 - entropy / math.log(len(known))))


def _answer(question: object, given: object) -> dict[str, Any]:
    known = options(question)
    kind = question.get("type") if isinstance(question, dict) else None
    if not known or not isinstance(given, Mapping) or given.get("type", kind) != kind:
        raise Nonsense("A question has no answer of its type.")
    chances = _noul(given) if kind == "noul" else _chances(given, known)
    best = _best(chances, given.get("choice"))
    certain = max(chances.values()) if kind == "noul" else confidence(chances.values())
    figures = {"probabilities": chances, "confidence": certain, "answer_confidence": chances[best]}
    return {**given, "type": kind, **_value(str(kind), chances, best, known), **figures}


def _value(kind: str, chances: Mapping[str, float], best: str, known: Mapping[str, str]) -> dict[str, Any]:
    if kind == "noul":
        return {"noul": chances["true"]}
    if kind == "choice":
        return {"choice": best}
    return {"score": math.fsum(int(level) * chance for level, chance in chances.items()), "legend": dict(known)}


def _chances(given: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, float]:
    told = given.get("probabilities")
    if not isinstance(told, Mapping) or told.keys() != known.keys():
        raise Nonsense("The probabilities are not those of the options.")
    return _whole({key: _chance(told[key]) for key in known})


def _noul(given: Mapping[str, Any]) -> dict[str, float]:
    """The probabilities of yes and no: from `noul`, or from a pair under either name."""
    if "noul" in given:
        yes = _chance(given["noul"])
        return {"true": yes, "false": 1.0 - yes}
    told = given.get("probabilities")
    pair = told if isinstance(told, Mapping) else {}
    for yes_key, no_key in (("true", "false"), ("yes", "no")):
        if pair.keys() == {yes_key, no_key}:
            return _whole({"true": _chance(pair[yes_key]), "false": _chance(pair[no_key])})
    raise Nonsense("A yes-or-no question has no probability of yes.")


def _chance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_TIE <= value <= 1 + _SLACK:
        raise Nonsense("A probability is not a number from 0 to 1.")
    return min(1.0, max(0.0, float(value)))


def _whole(chances: dict[str, float]) -> dict[str, float]:
    total = math.fsum(chances.values())
    if abs(total - 1.0) > _SLACK:
        raise Nonsense("The probabilities do not sum to 1.")
    return {key: chance / total for key, chance in chances.items()}


def _best(chances: Mapping[str, float], named: object) -> str:
    """The most probable option. Between equals the server's word counts, then the key: never the order they came in."""
    most = max(chances.values())
    equals = [key for key, chance in chances.items() if most - chance <= _TIE]
    return named if isinstance(named, str) and named in equals else min(equals)
