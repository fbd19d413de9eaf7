"""`POST /v1/systemone` and `/realtime/v1/systemone`: one answer per question, and two rules for what is too long."""

from typing import Any

import pytest

from tests.realtime.served import Surface

QUESTION = {"type": "choice", "instructions": "Which?", "criteria": {"a": "the first", "b": "the second"}}
PATHS = ("/v1/systemone", "/realtime/v1/systemone")


def body(**changes: Any) -> dict[str, Any]:
    return {"model": "scripted-decide", "state": "A text.", "questions": {"q": QUESTION}} | changes


@pytest.mark.parametrize("path", PATHS)
def test_every_question_is_answered_and_its_tokens_are_billed(surface: Surface, path: str) -> None:
    answer = surface.http.post(path, json=body(questions={"q": QUESTION, "r": QUESTION})).json()
    assert answer["model"] == "scripted-decide"
    assert list(answer["answers"]) == ["q", "r"]
    assert answer["answers"]["q"]["choice"] in ("a", "b")
    assert set(answer["answers"]["q"]) >= {"type", "probabilities", "confidence", "answer_confidence"}
    (record,) = surface.settled()
    assert (record.surface, record.input_tokens) == ("decisions", answer["usage"]["input_tokens"])


def test_state_past_the_window_is_refused_on_the_openai_host_alone(surface: Surface) -> None:
    long = body(state="word " * 9_000)
    refused = surface.http.post(PATHS[0], json=long)
    assert refused.status_code == 400
    assert "'q'" in refused.json()["error"]["message"]
    assert surface.http.post(PATHS[1], json=long).status_code in (200, 400)
    # The options of a question share 192 tokens, however long they are.
    many = QUESTION | {"criteria": {f"option {number}": "word " * 40 for number in range(200)}}
    assert surface.http.post(PATHS[0], json=body(state="word " * 7_000, questions={"q": many})).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_question_that_nobody_could_answer_is_a_422_that_names_it(surface: Surface, path: str) -> None:
    odd = {"type": "noul", "instructions": "Is it?", "criteria": {"yes": "it is"}}
    answer = surface.http.post(path, json=body(questions={"odd": odd}))
    assert answer.status_code == 422
    assert "odd" in answer.text
    told = surface.http.post(path, json=body(questions={"odd": QUESTION | {"instructions": ["Which?"]}}))
    assert (told.status_code, "instructions that are not a string" in told.text) == (422, True)
    assert surface.http.post(path, json=body(temperature=1)).status_code in (400, 422)
