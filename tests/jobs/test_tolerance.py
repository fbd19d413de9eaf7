"""The bound of a sample: what nearly every row stays under, and rows drawn fairly."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import tolerance
from jobs.tolerance import CONFIDENCE, SAMPLE_ROWS, SHARE, SMALLEST_SAMPLE


def test_the_sample_is_large_enough_for_a_bound() -> None:
    assert SMALLEST_SAMPLE <= SAMPLE_ROWS
    assert 1 - SHARE**SMALLEST_SAMPLE >= CONFIDENCE > 1 - SHARE ** (SMALLEST_SAMPLE - 1)


@pytest.mark.parametrize(
    ("longest", "answered", "rows", "room", "cap"),
    [
        (100, 64, 1000, 4096, 112),
        (112, 64, 1000, 4096, 112),
        (0, 64, 1000, 4096, 1),
        (100, 64, 1000, 105, 105),
        (100, 59, 1000, 4096, 112),
        (100, 58, 1000, 4096, 128),
        (100, 30, 30, 4096, 112),
        (100, 29, 30, 4096, 128),
        (math.inf, 64, 1000, 4096, 4096),
    ],
)
def test_the_bound_is_the_longest_in_steps_within_the_room(
    longest: float, answered: int, rows: int, room: int, cap: int
) -> None:
    lengths = [longest, *[0.0] * (answered - 1)]
    assert tolerance.bound(lengths, rows=rows, room=room) == cap


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200))
def test_nineteen_of_twenty_lengths_are_usual(lengths: list[int]) -> None:
    usual = tolerance.usual(lengths)
    assert (
        sum(length <= usual for length in lengths) >= SHARE * len(lengths) > sum(length < usual for length in lengths)
    )
