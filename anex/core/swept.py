"""That the scheduler and somebody who does what it asks are alive: each sweep leaves the time, for each region.

The time is in Postgres; beside it stands in the broker who uses it, since each region has one of its own.
"""

import logging
from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import cache
from redis import Redis

log = logging.getLogger(__name__)

REGIONS: Final = ("world", "eu")
# Sweeps are asked for once a minute.
LATE_S: Final = 300
_PATIENCE_S: Final = 2


def record(now: datetime) -> None:
    """A sweep of this region ran; what cannot be told is told by the next one."""
    try:
        cache.set(_name(settings.ANEX_REGION), now, timeout=None)
        with _broker() as broker:
            broker.set(_name(settings.ANEX_REGION), now.isoformat(), ex=LATE_S)
    except Exception as error:
        log.info("the time of a sweep could not be told: %s", type(error).__name__)


def last(region: str) -> datetime | None:
    """When a sweep of a region last ended."""
    found: datetime | None = cache.get(_name(region))
    return found


def sharing() -> list[str]:
    """The regions whose sweeps came lately through the broker of this process. Raises RedisError."""
    with _broker() as broker:
        return [region for region in REGIONS if broker.exists(_name(region))]


def _name(region: str) -> str:
    return f"anex-swept:{region}"


def _broker() -> Redis:
    url = settings.CELERY_BROKER_URL
    return Redis.from_url(url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S)
