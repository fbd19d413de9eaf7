"""Which usage reports of a model server are believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.usage import Usage
from inference.backends.usage import read_usage

BOUNDS = {"input_bound": 100, "output_bound": 50}


def report(read, written, cached=None):
    return {"prompt_tokens": read, "completion_tokens": written, "prompt_tokens_details": {"cached_tokens": cached}}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (report(10, 5, 4), (Usage(10, 4, 5), False)),
        (report(10, 5), (Usage(10, 0, 5), False)),
        ({"prompt_tokens": 10, "completion_tokens": 5}, (Usage(10, 0, 5), False)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None}, (Usage(10, 0, 5), False)),
        ({"prompt_tokens": 7, "total_tokens": 7}, (Usage(7, 0, 0), False)),
        ({"input_tokens": 9, "output_tokens": 0}, (Usage(9, 0, 0), False)),
        (report(0, 0), (Usage(0, 0, 0), False)),
        (report(10.0, 5.0), (Usage(10, 0, 5), False)),
        (report(101, 51), (Usage(100, 0, 50), True)),
        (report(1e308, 10**15), (Usage(100, 0, 50), True)),
        (report(10, 5, 11), (Usage(10, 10, 5), True)),
        (report(10, 5, -1), (Usage(10, 0, 5), True)),
        (report(10, 5, "many"), (Usage(10, 0, 5), True)),
        (report(-5, 5), (None, True)),
        (report(5, -5), (None, True)),
        (report(float("nan"), 5), (None, True)),
        (report(float("inf"), 5), (None, True)),
        (report(10.5, 5), (None, True)),
        (report("10", 5), (None, True)),
        (report(True, 5), (None, True)),
        (report(None, None), (None, True)),
        ("usage", (None, True)),
        ([], (None, True)),
        ({}, (None, False)),
        (None, (None, False)),
    ],
)
def test_report_is_read_clamped_or_refused(usage, expected):
    assert read_usage({"usage": usage}, **BOUNDS) == expected


def test_missing_report_is_told_apart_from_zero():
    assert read_usage({}, **BOUNDS) == (None, False)


def test_generated_text_without_an_output_count_is_no_report():
    assert read_usage({"choices": [], "usage": {"prompt_tokens": 7}}, **BOUNDS) == (None, True)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens"]), inner
        )
    ),
)


@given(anything)
def test_believed_counts_are_always_possible(usage):
    believed, _ = read_usage({"usage": usage}, **BOUNDS)
    if believed is not None:
        assert 0 <= believed.cached_tokens <= believed.input_tokens <= 100
        assert 0 <= believed.output_tokens <= 50
