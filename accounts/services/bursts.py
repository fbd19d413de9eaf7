"""How fast the keys of an organization may send requests, where its plan says so: counted in Valkey, second by second.

Where Valkey is away nothing is refused, as at the edge (docs/decisions/edge-rate-limit.md).
"""

import logging
from functools import cache
from uuid import UUID

from django.conf import settings
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError

from anex.core.errors import TooManyRequests

log = logging.getLogger(__name__)

PATIENCE_S = 0.25


def take(*, organization_id: UUID, burst: int | None) -> None:
    """Count a request of the organization; TooManyRequests (429) beyond `burst` in a second. None is no limit."""
    if burst is None:
        return
    try:
        heard = _limiter().hit(RateLimitItemPerSecond(burst), str(organization_id))
    except (RedisError, OSError) as error:
        log.warning("a plan's burst is not counted: %s", type(error).__name__)
        return
    if not heard:
        raise TooManyRequests(
            f"This organization's plan takes {burst:,} requests a second. Wait a second, then send it again.",
            retry_after=1,
        )


@cache
def _limiter() -> SlidingWindowCounterRateLimiter:
    storage = RedisStorage(
        settings.CELERY_BROKER_URL,
        key_prefix=f"{settings.ANEX_VALKEY_PREFIX}anex-burst",
        socket_timeout=PATIENCE_S,
        socket_connect_timeout=PATIENCE_S,
    )
    return SlidingWindowCounterRateLimiter(storage)
