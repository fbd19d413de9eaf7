"""The answer to a decision request, from what a System One server answered. Pure."""

from typing import Any

from anex.core.usage import Usage
from inference.backends.faults import ServerFailed
from inference.requests import decision_answers
from inference.requests.decisions import DecisionRow


def body(request: DecisionRow, answer: dict[str, Any], *, model_id: str, usage: Usage) -> dict[str, Any]:
    """The answer under the model's public id, the same fields as in a job's results. Raises `ServerFailed`."""
    try:
        return decision_answers.complete(request, answer, usage=usage) | {"model": model_id}
    except decision_answers.Nonsense:
        raise ServerFailed("The model server did not answer every question.") from None
