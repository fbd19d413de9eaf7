"""Questions a decision server of ours cannot answer as written (reference 001, question types). Pure."""

from inference.engines.refusals import Refusal
from inference.requests import decisions

_KINDS = ("choice", "noul", "score")


def options_of(name: str, question: object) -> dict[str, str]:
    """The options of a question, key to description. Raises `Refusal` (422) that names the question."""
    asked = question if isinstance(question, dict) else {}
    kind, instructions, criteria = asked.get("type"), asked.get("instructions"), asked.get("criteria")
    if not isinstance(instructions, str) or not instructions.strip():
        raise refusal(name, "has no instructions")
    if kind not in _KINDS:
        raise refusal(name, "has an unknown type: it must be choice, noul or score")
    if kind == "noul" and isinstance(criteria, dict) and (odd := sorted(criteria.keys() - {"true", "false"})):
        raise refusal(name, f"is answered with yes or no: its criteria are keyed true and false, not {odd[0]}")
    if not (known := decisions.options(asked)):
        shape = {"choice": "an object of options", "noul": "an object", "score": "a list of levels"}[kind]
        raise refusal(name, f"needs criteria that are {shape}")
    return known


def refusal(name: str, why: str) -> Refusal:
    """The refusal of a question, whose name comes back in the sentence."""
    return Refusal(f"Question {name!r} {why}.", param=f"questions.{name}", status=422)
