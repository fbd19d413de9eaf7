"""Decision answers: completed from the probabilities alone, and nonsense is told from answers."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.usage import Usage
from inference.requests.decision_answers import Nonsense, complete, confidence, is_whole, read
from inference.requests.decisions import DecisionRow

CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"a": "first", "b": None, "c": {"x": 1}}}
SCORE = {"type": "score", "instructions": "How much?", "criteria": ["low", "middle", "high"]}
NOUL = {"type": "noul", "instructions": "Is it?"}
EVEN = {"a": 0.2, "b": 0.3, "c": 0.5}


def row(**questions: Any) -> DecisionRow:
    return DecisionRow("r", "text", questions, None)


def one(question: dict[str, Any], answer: Any) -> dict[str, Any]:
    return read(row(q=question), {"answers": {"q": answer}})["q"]


@st.composite
def distributions(draw: st.DrawFn) -> list[float]:
    weights = draw(st.lists(st.floats(0, 1), min_size=2, max_size=12).filter(lambda made: sum(made) > 1e-6))
    return [weight / sum(weights) for weight in weights]


@given(distributions(), st.randoms())
def test_confidence_is_from_0_to_1_and_knows_no_order(chances: list[float], rng: random.Random) -> None:
    shuffled = rng.sample(chances, len(chances))
    assert 0 <= confidence(chances) <= 1
    assert confidence(shuffled) == confidence(chances)


@given(st.integers(2, 255))
def test_uniform_is_0_and_certain_is_1(count: int) -> None:
    assert confidence([1 / count] * count) == pytest.approx(0, abs=1e-12)
    assert confidence([1.0, *[0.0] * (count - 1)]) == 1


@given(distributions(), st.floats(0, 1))
def test_moving_towards_even_never_raises_confidence(chances: list[float], part: float) -> None:
    flatter = [(1 - part) * chance + part / len(chances) for chance in chances]
    assert confidence(flatter) <= confidence(chances) + 1e-12


def test_a_choice_is_the_most_probable_option_whatever_the_server_named() -> None:
    answer = one(CHOICE, {"type": "choice", "choice": "a", "probabilities": EVEN, "confidence": 0.99, "extra": [1]})
    assert (answer["choice"], answer["answer_confidence"], answer["extra"]) == ("c", 0.5, [1])
    assert answer["confidence"] == pytest.approx(0.0627, abs=1e-4)


def test_between_equals_the_servers_word_counts_and_then_the_key_but_never_the_order() -> None:
    equals = {"c": 0.4, "b": 0.2, "a": 0.4}
    assert one(CHOICE, {"choice": "c", "probabilities": equals})["choice"] == "c"
    assert one(CHOICE, {"probabilities": equals})["choice"] == "a"
    assert one(CHOICE, {"probabilities": dict(reversed(equals.items()))})["choice"] == "a"


def test_a_score_is_the_expected_level_with_a_legend_of_texts() -> None:
    answer = one(SCORE, {"type": "score", "probabilities": {"0": 0.12, "1": 0.46, "2": 0.42}})
    assert answer["score"] == pytest.approx(1.3)
    assert answer["legend"] == {"0": "low", "1": "middle", "2": "high"}
    assert answer["answer_confidence"] == pytest.approx(0.46)


@pytest.mark.parametrize(
    "told", [{"noul": 0.3}, {"probabilities": {"yes": 0.3, "no": 0.7}}, {"probabilities": {"false": 0.7, "true": 0.3}}]
)
def test_yes_or_no_is_read_from_every_shape_and_its_confidence_is_the_larger(told: dict[str, Any]) -> None:
    answer = one(NOUL, {"type": "noul", **told})
    assert answer["noul"] == pytest.approx(0.3)
    assert answer["probabilities"] == pytest.approx({"true": 0.3, "false": 0.7})
    assert answer["confidence"] == answer["answer_confidence"] == pytest.approx(0.7)


def test_probabilities_that_were_rounded_are_scaled_to_1() -> None:
    answer = one(CHOICE, {"probabilities": {"a": 0.33, "b": 0.33, "c": 0.33}})
    assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-15)
    assert answer["confidence"] == pytest.approx(0, abs=1e-12)


NONSENSE = {
    "missing": {},
    "none": {"q": None},
    "other type": {"q": {"type": "score", "probabilities": EVEN}},
    "no probabilities": {"q": {"choice": "a"}},
    "a key too few": {"q": {"probabilities": {"a": 0.5, "b": 0.5}}},
    "a wrong key": {"q": {"probabilities": {"a": 0.5, "b": 0.3, "d": 0.2}}},
    "null, as NaN is read": {"q": {"probabilities": EVEN | {"a": None}}},
    "nan": {"q": {"probabilities": EVEN | {"a": float("nan")}}},
    "text": {"q": {"probabilities": EVEN | {"a": "0.2"}}},
    "a truth": {"q": {"probabilities": {"a": True, "b": 0.0, "c": 0.0}}},
    "negative": {"q": {"probabilities": {"a": -0.2, "b": 0.7, "c": 0.5}}},
    "not whole": {"q": {"probabilities": {"a": 0.2, "b": 0.3, "c": 0.3}}},
    "a list": {"q": [0.2, 0.3, 0.5]},
}


@pytest.mark.parametrize("answers", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_no_answer(answers: dict[str, Any]) -> None:
    assert not is_whole(row(q=CHOICE), {"answers": answers})


def test_yes_without_a_number_is_nonsense_and_so_are_answers_that_are_no_object() -> None:
    for told in ({"noul": None}, {"noul": 1.5}, {"noul": "yes"}, {"probabilities": {"yes": 1}}, {}):
        assert not is_whole(row(q=NOUL), {"answers": {"q": told}})
    for body in ({}, {"answers": []}, {"answers": None}):
        assert not is_whole(row(q=NOUL), body)


def test_answers_come_in_the_order_of_the_questions_and_others_are_left_out() -> None:
    body = {"answers": {"z": {}, "second": {"noul": 1}, "first": {"noul": 0}}, "usage": {"prompt_tokens": 9}}
    made = complete(row(first=NOUL, second=NOUL), body, usage=Usage(input_tokens=7))
    assert list(made["answers"]) == ["first", "second"]
    assert made["usage"] == {"input_tokens": 7, "output_tokens": 0}


def test_a_question_without_options_cannot_have_been_answered() -> None:
    with pytest.raises(Nonsense):
        one({"type": "choice", "instructions": "Which?", "criteria": {}}, {"probabilities": {}})
    with pytest.raises(Nonsense):
        one({"type": "odd", "instructions": "?"}, {"noul": 0.5})
