"""How long a job is said to take."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.pace import MOST_SECONDS, Pace, expected_seconds, measure

APPROVED = datetime(2026, 1, 1, tzinfo=UTC)


def measured(*, first: float, last: float, parts: int, tokens: int = 1_000, rows: int = 10) -> Pace | None:
    first_at, last_at = (APPROVED + timedelta(seconds=seconds) for seconds in (first, last))
    return measure(
        approved_at=APPROVED, first_part_at=first_at, last_part_at=last_at, parts=parts, tokens=tokens, rows=rows
    )


def test_the_first_part_belongs_to_the_start() -> None:
    assert measured(first=60, last=100, parts=5) == Pace(60, 800 / 40, 100)


def test_a_job_of_one_part_gives_a_lower_bound() -> None:
    assert measured(first=10, last=10, parts=1) == Pace(10, 100, 100)


@pytest.mark.parametrize("nothing", [{"tokens": 0}, {"rows": 0}])
def test_a_job_that_made_nothing_has_no_pace(nothing: dict[str, int]) -> None:
    assert measured(first=1, last=2, parts=2, **nothing) is None


def test_a_promise_is_start_and_work_by_the_median_job() -> None:
    recent = [Pace(60, 20, 100), Pace(50, 10, 50), Pace(9_000, 0.1, 10_000)]
    assert expected_seconds(recent, rows=7, tokens=1_000, most_per_row=16) == 60 + 100
    assert expected_seconds(recent, rows=10, tokens=None, most_per_row=500) == 60 + 100
    assert expected_seconds(recent, rows=10, tokens=None, most_per_row=16) == 60 + 16
    assert expected_seconds([], rows=10, tokens=1_000, most_per_row=16) is None


FLOATS = st.floats(0, 1e12)


@given(
    st.lists(st.builds(Pace, FLOATS, st.floats(1e-300, 1e12), FLOATS), min_size=1, max_size=5),
    st.integers(0, 10**7),
    st.none() | FLOATS,
    st.integers(0, 10**6),
)
def test_a_promise_always_fits_its_column(
    recent: list[Pace], rows: int, tokens: float | None, most_per_row: int
) -> None:
    seconds = expected_seconds(recent, rows=rows, tokens=tokens, most_per_row=most_per_row)
    assert seconds is not None
    assert 1 <= seconds <= MOST_SECONDS
