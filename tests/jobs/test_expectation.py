"""What rows write on average, with an interval."""

import random

from hypothesis import given
from hypothesis import strategies as st

from jobs.expectation import CONFIDENCE, Mean, mean


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=64), st.integers(0, 10**7), st.integers(0, 1_000))
def test_the_mean_lies_in_its_interval_and_the_interval_under_the_cap(written: list[int], more: int, room: int) -> None:
    most = max(written) + room
    found = mean(written, rows=len(written) + more, most=most)
    assert 0 <= found.low <= found.expected <= found.high <= most
    assert sum(written) <= found.low * (len(written) + more) + 1e-6 or found.low == found.expected


def test_a_job_that_was_measured_whole_is_known() -> None:
    assert mean([1, 2, 6], rows=3, most=10) == Mean(3, 3, 3)


def test_a_few_answers_say_little() -> None:
    assert mean([10] * 4, rows=100, most=64) == Mean(10, 0.4, 64)


def test_a_long_tail_pulls_the_upper_end_away() -> None:
    found = mean([10] * 60 + [1_000] * 4, rows=10_000, most=1_008)
    assert found.high - found.expected > 1.5 * (found.expected - found.low)


def test_the_interval_holds_as_often_as_it_claims_to() -> None:
    dice, held = random.Random(7), 0
    for _ in range(400):
        rows = [min(2_000, int(dice.lognormvariate(5, 1))) for _ in range(300)]
        found = mean(rows[:64], rows=300, most=2_000)
        held += found.low <= sum(rows) / 300 <= found.high
    assert held >= (CONFIDENCE - 0.03) * 400
