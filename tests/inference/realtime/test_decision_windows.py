"""Which window a decision is read in, and who refuses a state beyond it (reference 000, decisions)."""

import pytest

from anex.core.errors import InvalidRequest
from inference.catalogue import Model, get
from inference.requests import decision_request
from inference.requests.decisions import DecisionRow
from inference.requests.profiles import REALTIME_V1, V1

QUESTION = {"type": "noul", "instructions": "Is it urgent?"}


def laya() -> Model:
    model = get("laya")
    assert model
    return model


def row(state: str, lang: str | None = None) -> DecisionRow:
    return DecisionRow("", state, {"urgent": QUESTION, "late": QUESTION}, lang)


@pytest.mark.parametrize(
    ("state", "lang", "tokens"),
    [
        ("plain words", None, 512),
        ("Grüße, naïve café", None, 512),
        ("请今天退款", None, 1024),
        ("Ответьте today", None, 1024),
        ("plain words", "de", 1024),
        ("请今天退款", "en-US", 512),
        ("请今天退款", "English", 512),
        ("12 34", None, 512),
    ],
)
def test_script_and_lang_choose_the_window(state: str, lang: str | None, tokens: int) -> None:
    assert decision_request.window(row(state, lang), laya()) == tokens


def test_most_states_need_no_counting() -> None:
    assert decision_request.surely_fits(row("short"), laya())
    assert not decision_request.surely_fits(row("long " * 200), laya())


def test_a_long_state_is_refused_on_one_surface_and_cut_on_the_other() -> None:
    counts = {"urgent": 512, "late": 600}
    with pytest.raises(InvalidRequest, match=r"question 'late' .* cut the state by 88 tokens") as refusal:
        decision_request.check_window(counts, row("x"), model=laya(), profile=V1)
    assert (refusal.value.status, refusal.value.param) == (400, "state")
    decision_request.check_window(counts, row("x"), model=laya(), profile=REALTIME_V1)


def test_a_question_is_counted_by_itself_with_the_state() -> None:
    single = decision_request.single_questions(row("x"))
    assert [list(one.questions) for one in single] == [["urgent"], ["late"]]
    assert decision_request.without_options(single[0]).questions == {"urgent": {"instructions": "Is it urgent?"}}


def test_options_are_read_up_to_the_tokens_they_share() -> None:
    assert decision_request.tokens_read(150, 100, laya()) == 150
    assert decision_request.tokens_read(900, 100, laya()) == 292
