"""Questions a decision server of ours cannot answer as written. Pure."""

from inference.engines.refusals import Refusal
from inference.requests import decisions


def options_of(name: str, question: object) -> dict[str, str]:
    """The options of a question, key to description. Raises `Refusal` (422) that names the question."""
    if fault := decisions.fault_of(question):
        raise refusal(name, fault)
    return decisions.options(question)


def refusal(name: str, why: str) -> Refusal:
    """The refusal of a question, whose name comes back in the sentence."""
    return Refusal(f"Question {name!r} {why}.", param=f"questions.{name}", status=422)
