"""That the scheduler and somebody who does what it asks are alive: each sweep leaves the time, for each region."""

import logging
from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import cache

log = logging.getLogger(__name__)

# Sweeps are asked for once a minute.
LATE_S: Final = 300


def record(now: datetime) -> None:
    """A sweep of this region ran; what cannot be told is told by the next one."""
    try:
        cache.set(_name(settings.ANEX_REGION), now, timeout=None)
    except Exception as error:
        log.info("the time of a sweep could not be told: %s", type(error).__name__)


def last(region: str) -> datetime | None:
    """When a sweep of a region last ended."""
    found: datetime | None = cache.get(_name(region))
    return found


def _name(region: str) -> str:
    return f"anex-swept:{region}"
