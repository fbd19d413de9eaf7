"""What the answer of a model server comes to: its result line and how it counts."""

import json
from typing import Any

import pytest

from anex.core.usage import Usage
from inference.backends.answers import Answer
from inference.catalogue import get
from inference.requests import rows as requests
from inference.requests.options import RowOptions
from jobs.run import judging
from tests.jobs.run.driver import chat_line

QUESTION = {"type": "noul", "instructions": "Is it?"}
DECISION = {"custom_id": "d", "method": "POST", "url": "/v1/systemone"} | {
    "body": {"state": "x", "questions": {"q": QUESTION}}
}


def row(line: str, model_id: str) -> requests.Row:
    model = get(model_id)
    assert model is not None
    return requests.parse(line.encode(), model=model, options=RowOptions())


CHAT, DECIDE = row(chat_line("c"), "scripted"), row(json.dumps(DECISION), "laya")
ANSWERED = {
    "chat": (CHAT, {"model": "/weights/v7", "choices": [{"message": {"content": "x"}}]}),
    "decision": (DECIDE, {"model": "/weights/v7", "answers": {"q": {"type": "noul", "noul": 0.5}}}),
}


@pytest.mark.parametrize("kind", ANSWERED)
async def test_an_answer_names_the_model_as_the_job_does(kind: str) -> None:
    request, body = ANSWERED[kind]
    answer = Answer(200, body, Usage(), "stop")
    outcome = await judging.judge(0, request, answer, Usage(), model_id="laya", card=None)
    assert json.loads(outcome.line)["response"]["body"]["model"] == "laya"
    assert b"weights" not in outcome.line


@pytest.mark.parametrize(
    ("request_", "status", "count", "shown"),
    [
        (DECIDE, 400, "format_error", 400),
        (DECIDE, 422, "format_error", 400),
        (DECIDE, 401, "error", None),
        (DECIDE, 404, "error", None),
        (CHAT, 400, "error", None),
    ],
)
def test_only_a_refused_question_is_a_line_with_a_status(
    request_: requests.Row, status: int, count: str, shown: int | None
) -> None:
    error: dict[str, Any] = {"error": {"message": "It cannot be."}}
    outcome = judging.refuse(0, request_, Answer(status, error, None, None))
    line = json.loads(outcome.line)
    assert (outcome.count, outcome.cost_nano, line["error"]) == (count, 0, "It cannot be.")
    assert (line["response"] or {}).get("status_code") == shown
    assert line["error_type"] == "invalid_request_error"
