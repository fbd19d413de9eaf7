"""The cap of a sample: what nearly every row stays under, and rows drawn fairly."""

import random
from collections import Counter

import pytest

from jobs import tolerance
from jobs.tolerance import CONFIDENCE, SAMPLE_ROWS, SHARE, SMALLEST_SAMPLE, Reservoir


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
    ],
)
def test_the_cap_is_the_longest_answer_in_steps_within_the_room(
    longest: int, answered: int, rows: int, room: int, cap: int
) -> None:
    assert tolerance.cap(longest, answered=answered, rows=rows, room=room) == cap


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
