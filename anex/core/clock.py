"""Time in one place, so that tests can move it."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The wall clock, aware, in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds that only grow; what leases are measured by."""
    return time.monotonic()
