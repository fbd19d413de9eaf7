"""What a client is told of a failure, whatever a model server said of it."""

import pytest

from inference.backends.faults import Throttled
from realtime import errors


@pytest.mark.parametrize(("asked_s", "told"), [(None, 1), (0.2, 1), (7.4, 7), (1e300, 60)])
def test_wait_a_server_asks_for_is_told_within_reason(asked_s: float | None, told: int) -> None:
    shown = errors.shown(Throttled("busy", retry_after_s=asked_s))
    assert (shown.status, shown.retry_after) == (429, told)
