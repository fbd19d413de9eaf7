"""When a request that failed at a model server is sent again. Pure."""

import random
from collections.abc import Callable

from inference.backends.faults import ServerLost, Throttled, UpstreamError

MOST_ATTEMPTS = 8
MOST_ATTEMPTS_LOST = 3
FIRST_WAIT_S = 0.5
MOST_DOUBLINGS = 10
LONGEST_WAIT_S = 30.0
LONGEST_RETRY_AFTER_S = 60.0


def wait_before_retry(
    error: UpstreamError, *, attempt: int, random_unit: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait after attempt number `attempt` (1 is the first) failed with `error`; None means give up.

    Eight attempts where the server fails, three where it is lost: then the caller looks for another. No end where it
    throttles: that says nothing about the request. The wait is a random part (`random_unit` is in [0, 1)) of a limit
    that doubles from 0.5 s to 30 s; a wait the server named, 60 s of it at most, comes first and bounds that part.
    """
    most = MOST_ATTEMPTS_LOST if isinstance(error, ServerLost) else MOST_ATTEMPTS
    if attempt >= most and not isinstance(error, Throttled):
        return None
    limit = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempt - 1, MOST_DOUBLINGS))
    if not isinstance(error, Throttled) or error.retry_after_s is None:
        return random_unit() * limit
    asked = min(LONGEST_RETRY_AFTER_S, max(0.0, error.retry_after_s))
    return asked + random_unit() * min(limit, asked)
