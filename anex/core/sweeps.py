"""Steps that a scheduled task takes one after the other."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime

from anex.core import swept

log = logging.getLogger(__name__)

Step = Callable[[datetime], object]


def run(steps: Iterable[Step], now: datetime) -> None:
    """Take every step; one that fails stops no other and is taken again by the next sweep."""
    for step in steps:
        try:
            step(now)
        except Exception:
            log.exception("%s failed; the next sweep tries again", step.__qualname__)
    swept.record(now)
