"""The cap of a sample: what nearly every row stays under, by exact counting, and rows drawn fairly."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import tolerance
from jobs.tolerance import SAMPLE_ROWS, SMALLEST_SAMPLE, Reservoir, allowed_above, upper_bound


@pytest.mark.parametrize(
    ("sampled", "above"), [(1, None), (58, None), (59, 0), (92, 0), (93, 1), (123, 1), (124, 2), (153, 3), (181, 4)]
)
def test_how_many_may_be_longer_is_that_of_the_published_tables(sampled: int, above: int | None) -> None:
    assert allowed_above(sampled) == above


def test_the_sample_is_large_enough_for_a_bound() -> None:
    assert SMALLEST_SAMPLE <= SAMPLE_ROWS
    assert allowed_above(SMALLEST_SAMPLE - 1) is None


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200))
def test_a_job_that_was_measured_whole_gets_its_longest_answer(lengths: list[int]) -> None:
    assert upper_bound(lengths, rows=len(lengths)) == max(lengths)


def test_a_few_answers_of_many_rows_bound_nothing() -> None:
    assert upper_bound([5] * 58, rows=1000) is None
    assert upper_bound([*range(58), 100], rows=1000) == 100
    assert upper_bound([*range(91), 100, 200], rows=1000) == 100


@pytest.mark.parametrize(
    ("lengths", "rows", "room", "cap"),
    [
        ([100] * 64, 1000, 4096, 112),
        ([112] * 64, 1000, 4096, 112),
        ([0] * 64, 1000, 4096, 1),
        ([100] * 64, 1000, 105, 105),
        ([100] * 30, 1000, 4096, 128),
        ([100] * 30, 30, 4096, 112),
    ],
)
def test_the_cap_is_the_bound_in_steps_within_the_room(lengths: list[int], rows: int, room: int, cap: int) -> None:
    assert tolerance.cap(lengths, rows=rows, room=room) == cap


def test_every_row_is_drawn_as_often_as_any_other() -> None:
    drawn: Counter[int] = Counter()
    for seed in range(3_000):
        reservoir: Reservoir[int] = Reservoir(4, seed=seed)
        for row in range(20):
            reservoir.add(row)
        assert len(set(reservoir.items)) == 4
        drawn.update(reservoir.items)
    assert all(abs(times - 600) < 110 for times in drawn.values())


def test_the_same_seed_draws_the_same_rows() -> None:
    first, second = Reservoir[int](8, seed=7), Reservoir[int](8, seed=7)
    for row in range(random.Random(1).randrange(100, 200)):
        first.add(row)
        second.add(row)
    assert first.items == second.items
