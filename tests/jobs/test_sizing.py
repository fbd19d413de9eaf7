"""Cap and thinking budget from measured answers, and why there may be none."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.requests.options import ANSWER_TOKENS, NOTICE_TOKENS
from jobs import tolerance
from jobs.sizing import Length, Limits, Misfit, Sizes, size

ROOM = 4096
PLAIN = Limits(rows=1_000, room=ROOM)
BUDGETED = Limits(rows=1_000, room=ROOM, budgeted=True)
CAPPED = Limits(rows=1_000, room=ROOM, given=400, budgeted=True)
CUT, CUT_IN_THOUGHT = Length(ROOM, cut=True), Length(ROOM, ROOM, cut=True)


def sample(*odd: Length, usual: Length) -> list[Length]:
    return [*odd, *[usual] * (64 - len(odd))]


@pytest.mark.parametrize(
    ("lengths", "limits", "sizes"),
    [
        (sample(usual=Length(100)), PLAIN, Sizes(112)),
        (sample(CUT, CUT, CUT, usual=Length(100)), PLAIN, Sizes(ROOM)),
        (sample(usual=Length(300, 200)), PLAIN, Sizes(304)),
        (sample(usual=Length(300, 200)), BUDGETED, Sizes(208 + 24 + 112, 208)),
        (sample(usual=Length(210, 200)), BUDGETED, Sizes(208 + 24 + 64, 208)),
        (sample(usual=Length(100)), BUDGETED, Sizes(112)),
        (sample(Length(3000, 2900), usual=Length(300, 200)), BUDGETED, Sizes(2912 + 24 + 112, 2912)),
        (sample(CUT_IN_THOUGHT, usual=Length(300, 200)), BUDGETED, Sizes(ROOM, ROOM - 24 - 100)),
        (sample(CUT, usual=Length(300, 200)), BUDGETED, Sizes(ROOM, 208)),
        (sample(usual=Length(300, 200)), CAPPED, Sizes(400, 208)),
        (sample(usual=Length(500, 400)), CAPPED, Sizes(400, 400 - 24 - 100)),
        (sample(usual=Length(100)), CAPPED, Sizes(400)),
        # Ten rows think, of a thousand: their longest gets the margin, as too few of them were measured.
        (sample(*[Length(180, 80)] * 10, usual=Length(100)), BUDGETED, Sizes(112 + 24 + 112, 112)),
        ([Length(300, 200)] * 5, Limits(rows=5, room=ROOM, budgeted=True), Sizes(208 + 24 + 112, 208)),
    ],
)
def test_answers_fit_beside_the_budget_and_the_note_that_ends_it(
    lengths: Sequence[Length], limits: Limits, sizes: Sizes
) -> None:
    assert size(lengths, limits) == sizes


@pytest.mark.parametrize(
    ("lengths", "limits", "code", "words"),
    [
        ([], PLAIN, "sample_failed", "We could not prepare a price for this job automatically"),
        ([CUT] * 32 + [Length(9)] * 32, PLAIN, "output_too_long", "typical answer"),
        (sample(*[CUT] * 4, usual=Length(9)), PLAIN, "output_too_long", "more output tokens than the 4,096"),
        (sample(*[CUT_IN_THOUGHT] * 4, usual=Length(9)), PLAIN, "reasoning_too_long", "Set reasoning_budget"),
        (sample(*[CUT_IN_THOUGHT] * 4, usual=Length(9, 4)), BUDGETED, "reasoning_too_long", "Set reasoning_budget"),
        ([CUT_IN_THOUGHT], CAPPED, "reasoning_too_long", "Set reasoning_budget"),
        (sample(*[CUT] * 4, usual=Length(9, 4)), BUDGETED, "output_too_long", "more output tokens than the 4,096"),
        (sample(usual=Length(4000, 90)), CAPPED, "answers_do_not_fit", "they need 3,910. Raise max_output_tokens"),
        (sample(*[CUT] * 4, usual=Length(9, 4)), CAPPED, "answers_do_not_fit", "they need more"),
    ],
)
def test_what_cannot_be_sized_says_what_helps(lengths: Sequence[Length], limits: Limits, code: str, words: str) -> None:
    with pytest.raises(Misfit) as raised:
        size(lengths, limits)
    assert raised.value.code == code
    assert words in raised.value.message


def test_what_a_row_writes_under_its_sizes() -> None:
    sizes = Sizes(output_cap=400, reasoning_budget=200)
    written = [sizes.written(length) for length in (Length(300, 190), Length(600, 500), Length(900, 100), CUT)]
    assert written == [300, 200 + 24 + 100, 400, 400]


@st.composite
def lengths_of(draw: st.DrawFn) -> Length:
    output = draw(st.integers(0, ROOM))
    return Length(output, draw(st.integers(0, output)), draw(st.booleans()))


@given(
    st.lists(lengths_of(), min_size=1, max_size=64),
    st.integers(1, ROOM),
    st.none() | st.integers(1, ROOM),
    st.booleans(),
    st.integers(0, 1000),
)
def test_sizes_keep_their_promises(
    lengths: list[Length], room: int, given_cap: int | None, budgeted: bool, more: int
) -> None:
    try:
        sizes = size(lengths, Limits(len(lengths) + more, room, given_cap, budgeted))
    except Misfit as misfit:
        assert "Set" in misfit.message or "set" in misfit.message
        return
    assert 1 <= sizes.output_cap <= min(room, given_cap or room)
    if sizes.reasoning_budget is not None:
        assert budgeted
        assert 1 <= sizes.reasoning_budget <= sizes.output_cap - NOTICE_TOKENS - ANSWER_TOKENS
    whole = [length for length in lengths if not length.cut and length.output <= room]
    if given_cap is None and sizes.output_cap < room and len(whole) == len(lengths):
        uncapped = Sizes(10**9, sizes.reasoning_budget)
        fitting = sum(uncapped.written(length) <= sizes.output_cap for length in lengths)
        assert fitting >= tolerance.SHARE * len(lengths)
