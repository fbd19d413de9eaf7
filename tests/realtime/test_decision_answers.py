"""A decision is answered under the public model, question by question."""

import pytest

from anex.core.usage import Usage
from inference.backends.faults import ServerFailed
from inference.requests.decisions import DecisionRow
from realtime.decisions import answers

ASKED = DecisionRow("", "hello", {"urgent": {"type": "noul", "instructions": "Is it urgent?"}}, None)


def test_an_answer_is_complete() -> None:
    served = {"model": "served", "answers": {"urgent": {"type": "noul", "noul": 0.75}}, "usage": {"input_tokens": 9}}
    body = answers.body(ASKED, served, model_id="laya", usage=Usage(input_tokens=7))
    assert body["model"] == "laya"
    assert body["usage"] == {"input_tokens": 7, "output_tokens": 0}
    assert body["answers"]["urgent"]["probabilities"] == {"true": 0.75, "false": 0.25}
    assert body["routing"].keys() == {"model", "reason"}


def test_half_an_answer_is_none() -> None:
    with pytest.raises(ServerFailed):
        answers.body(ASKED, {"answers": {}}, model_id="laya", usage=Usage())
