"""The back-off between attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.backends.faults import ServerFailed, ServerLost, Throttled
from inference.backends.retries import wait_before_retry

units = st.floats(min_value=0, max_value=1, exclude_max=True)
waits = st.none() | st.floats(min_value=0, max_value=1e9)


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(ServerFailed("broken"), 8), (ServerLost("gone", sent=True), 3)],
)
def test_attempts_end(error, attempts):
    waits = [wait_before_retry(error, attempt=attempt) for attempt in range(1, attempts + 1)]
    assert all(wait is not None for wait in waits[:-1])
    assert waits[-1] is None


def test_a_server_that_throttles_is_asked_without_end():
    assert wait_before_retry(Throttled("busy"), attempt=10_000, random_unit=lambda: 1.0) == 30.0


@given(attempt=st.integers(1, 5), unit=units)
def test_wait_without_a_named_time_is_a_part_of_a_doubling_limit(attempt, unit):
    wait = wait_before_retry(ServerFailed("broken"), attempt=attempt, random_unit=lambda: unit)
    assert wait == unit * min(30.0, 0.5 * 2 ** (attempt - 1))


@given(attempt=st.integers(1, 5), unit=units, asked=waits)
def test_named_time_is_honoured_up_to_a_minute(attempt, unit, asked):
    wait = wait_before_retry(Throttled("busy", retry_after_s=asked), attempt=attempt, random_unit=lambda: unit)
    least = min(asked or 0, 60)
    assert wait is not None
    assert least <= wait <= least + 30


def test_waits_of_many_senders_are_spread():
    waits = {wait_before_retry(Throttled("busy", retry_after_s=1), attempt=3) for _ in range(50)}
    assert len(waits) > 40
