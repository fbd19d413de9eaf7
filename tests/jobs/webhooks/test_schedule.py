"""When a failed delivery is tried again."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.webhooks import ATTEMPTS, JITTER, MOST_RETRY_AFTER_S, WAITS, retry_after_seconds, wait_before_next

NOW = datetime(2026, 7, 22, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("120", 120),
        (" 120 ", 120),
        ("-1", 0),
        ("1.5", 0),
        ("soon", 0),
        ("١٢", 0),
        ("9" * 400, 9_999_999_999),
        ("Wed, 22 Jul 2026 10:05:00 GMT", 300),
        ("Wed, 22 Jul 2026 09:05:00 GMT", 0),
        ("Wed, 22 Jul 2026 10:05:00 -0000", 0),
        ("Wed, 99 Jul 2026 10:05:00 GMT", 0),
        ("Wed, 22 Jul 99999999999999999999 10:05:00 GMT", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(header, seconds):
    assert retry_after_seconds(header, now=NOW) == seconds


@pytest.mark.parametrize("tries_left", range(1, ATTEMPTS + 1))
def test_wait_is_around_the_figure_of_the_schedule(tries_left):
    figure = WAITS[max(0, len(WAITS) - tries_left)]
    waits = {wait_before_next(tries_left).total_seconds() for _ in range(50)}
    assert len(waits) > 1
    assert all(figure * (1 - JITTER) <= wait <= figure * (1 + JITTER) for wait in waits)


def test_receiver_lengthens_a_wait_within_bounds_and_shortens_none():
    assert wait_before_next(8, retry_after_s=600) == timedelta(seconds=600)
    assert wait_before_next(8, retry_after_s=1e9) == timedelta(seconds=MOST_RETRY_AFTER_S)
    assert wait_before_next(1, retry_after_s=1) > timedelta(hours=8)
