"""How much a test does that is long by nature: enough to fail in the suite, all of it in `make test-full`."""

import os

FULL = os.environ.get("ANEX_TEST_SIZE") == "full"


def sized(short: int, full: int) -> int:
    """The smaller number in the suite."""
    return full if FULL else short
