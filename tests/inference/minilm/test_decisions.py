"""The stand-in for a decision model: right where a text says plainly what it is about, and the same in every order."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from inference import catalogue
from inference.requests import decisions
from inference.requests.options import RowOptions
from inference.tokens import count_rows
from tests.inference.minilm.server import MiniLm, needs_model

LABELLED = json.loads((Path(__file__).parent / "labelled.json").read_text())
MODEL = catalogue.get("minilm-decide")
TEAM = {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "invoices", "technical": "bugs"}}
URGENT = {"type": "noul", "instructions": "Is it urgent?", "criteria": {"true": "right now", "false": "whenever"}}
ANGER = {"type": "score", "instructions": "How angry?", "criteria": ["calm", "annoyed", "angry"]}

pytestmark = [pytest.mark.slow, needs_model]


def decide(encoder: MiniLm, state: Any, questions: dict[str, Any], **more: Any) -> tuple[int, dict[str, Any]]:
    return encoder.post("/systemone", {"model": "minilm-decide", "state": state, "questions": questions, **more})


def decided(encoder: MiniLm, state: Any, questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    status, body = decide(encoder, state, questions, **more)
    assert status == 200, body
    return body


def counted(state: Any, questions: dict[str, Any]) -> int:
    row = decisions.read("r", {"state": state, "questions": questions}, model=MODEL)
    [usage] = count_rows(MODEL, [row], options=RowOptions())
    return usage.input_tokens


def picked(answer: dict[str, Any]) -> object:
    if answer["type"] == "noul":
        return answer["noul"] > 0.5
    if answer["type"] == "choice":
        return answer["choice"]
    return int(max(answer["probabilities"], key=answer["probabilities"].get))


def test_at_least_13_of_20_labelled_decisions_are_right(encoder: MiniLm) -> None:
    assert len(LABELLED) == 20
    answers = [decided(encoder, each["state"], {"q": each["question"]})["answers"]["q"] for each in LABELLED]
    right = sum(picked(answer) == each["answer"] for answer, each in zip(answers, LABELLED, strict=True))
    assert right >= 13
    assert all(sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-12) for answer in answers)


def test_neither_the_order_of_options_nor_of_questions_nor_what_else_is_asked_changes_a_digit(encoder: MiniLm) -> None:
    state, section = LABELLED[6]["state"], LABELLED[6]["question"]
    first = decided(encoder, state, {"section": section, "team": TEAM, "urgent": URGENT})["answers"]
    for order in itertools.permutations(section["criteria"].items()):
        turned = section | {"criteria": dict(order)}
        assert decided(encoder, state, {"urgent": URGENT, "section": turned})["answers"]["section"] == first["section"]
    flipped = URGENT | {"criteria": dict(reversed(URGENT["criteria"].items()))}
    assert decided(encoder, state, {"urgent": flipped})["answers"]["urgent"] == first["urgent"]


def test_levels_that_read_alike_are_equally_probable(encoder: MiniLm) -> None:
    same = {"type": "score", "instructions": "How much?", "criteria": ["alike", "alike"]}
    answer = decided(encoder, "text", {"q": same})["answers"]["q"]
    assert answer["probabilities"] == {"0": 0.5, "1": 0.5}
    assert (answer["score"], answer["confidence"]) == (0.5, 0)


@pytest.mark.parametrize("state", ["Refund me, please!", {"body": "Wir wurden zweimal belastet.", "n": 2}, ""])
def test_a_decision_bills_what_the_platform_counts(encoder: MiniLm, state: Any) -> None:
    questions = {"team": TEAM, "urgent": {"type": "noul", "instructions": "Urgent?"}, "anger": ANGER}
    usage = decided(encoder, state, questions)["usage"]
    assert usage == {"input_tokens": counted(state, questions), "output_tokens": 0}


def test_a_long_text_is_cut_to_the_window_that_the_question_leaves(encoder: MiniLm) -> None:
    beginning = "The invoice is wrong. " * 200
    one, other = (decided(encoder, beginning + end, {"team": TEAM}) for end in ("It crashes.", "It hurts. " * 50))
    assert one["answers"] == other["answers"]
    assert one["usage"]["input_tokens"] == other["usage"]["input_tokens"] == MODEL.context_tokens - 2


def test_every_answer_says_that_it_is_a_stand_in(encoder: MiniLm) -> None:
    body = decided(encoder, "Hallo", {"team": TEAM}, lang="de")
    assert body["routing"]["model"] == "minilm-l6-v2"
    assert "embedding similarity" in body["routing"]["reason"]
    assert "stand-in" in body["routing"]["reason"]


MANY = {f"option-{number}-zebra": None for number in range(60)}
REFUSED = {
    "no instructions": {"type": "noul"},
    "blank instructions": {"type": "noul", "instructions": " "},
    "unknown type": {"type": "rank", "instructions": "Which?"},
    "yes keyed otherwise": {"type": "noul", "instructions": "Is it?", "criteria": {"yes": "it is"}},
    "no options": {"type": "choice", "instructions": "Which?"},
    "a list for a choice": {"type": "choice", "instructions": "Which?", "criteria": ["a"]},
    "options over the budget": {"type": "choice", "instructions": "Which?", "criteria": MANY},
    "no room for the text": {"type": "noul", "instructions": "word " * 600},
    "no object": 7,
}


@pytest.mark.parametrize("question", REFUSED.values(), ids=REFUSED.keys())
def test_a_question_that_cannot_be_answered_is_refused_by_its_name(encoder: MiniLm, question: Any) -> None:
    status, body = decide(encoder, "text", {"good": URGENT, "odd one": question})
    assert status == 422
    assert "'odd one'" in body["error"]["message"]
    assert body["error"]["param"] == "questions.odd one"


def test_long_descriptions_are_cut_to_their_share_and_answered(encoder: MiniLm) -> None:
    wordy = {"billing": "invoices " * 300, "technical": "bugs " * 300}
    body = decided(encoder, "The invoice is wrong.", {"team": TEAM | {"criteria": wordy}})
    assert body["answers"]["team"]["choice"] == "billing"
    assert body["usage"]["input_tokens"] == 7 + 3 + MODEL.decisions.option_tokens


@pytest.mark.parametrize(
    "broken", [{"questions": {}}, {"questions": []}, {"state": 7}, {"lang": 1}, {"temperature": 1}]
)
def test_a_request_outside_the_limits_is_refused(encoder: MiniLm, broken: dict[str, Any]) -> None:
    request = {"model": "minilm-decide", "state": "x", "questions": {"u": URGENT}}
    assert encoder.post("/systemone", request | broken)[0] == 400
