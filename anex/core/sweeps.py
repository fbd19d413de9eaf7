"""Steps that a scheduled task takes one after the other."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, TypeVar

from anex.core import swept
from anex.core.errors import Unavailable

log = logging.getLogger(__name__)

Step = Callable[[datetime], object]
T = TypeVar("T")

# Of these in a row it is not the thing that fails, but what keeps it.
MOST_FAILED: Final = 3


def run(steps: Iterable[Step], now: datetime) -> None:
    """Take every step; one that fails stops no other and is taken again by the next sweep."""
    for step in steps:
        try:
            step(now)
        except Exception:
            log.exception("%s failed; the next sweep tries again", step.__qualname__)
    swept.record(now)


def each(things: Iterable[T], do: Callable[[T], int]) -> int:
    """Do it with every thing; one that is Unavailable is left to the next sweep and stops no other.

    Answers the sum of what `do` answers. Raises Unavailable where nothing could be done, and where several fail one
    after the other: all else would wait as long.
    """
    total = failed = 0
    went_well, last = False, None
    for thing in things:
        try:
            total += do(thing)
        except Unavailable as error:
            failed, last = failed + 1, error
            log.warning("left to the next sweep: %s", error.message)
            if failed >= MOST_FAILED:
                raise
        else:
            failed, went_well = 0, True
    if last and not went_well:
        raise last
    return total
