"""The edge of the APIs: requests that come faster than accepted are refused before anything is parsed or looked up.

Counted by address and by key in Valkey, so every web process sees the same; where Valkey is away nothing is refused.
ASGI, so that it stands in front of Django and of raw handlers alike. docs/decisions/edge-rate-limit.md says why so.
"""

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import IPv6Address, ip_address
from typing import Any
from uuid import uuid4

import orjson
from django.conf import settings
from limits import RateLimitItem, parse
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError

from anex.core import clock
from anex.refusals import API_PATHS

log = logging.getLogger(__name__)

Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]

PATIENCE_S = 0.25
# How long nothing is counted after Valkey did not answer.
REST_S = 5.0
# Reference 003, RateLimitError.
BODY = orjson.dumps(
    {
        "error": {
            "code": "rate_limit_exceeded",
            "message": "Requests arrive faster than they are accepted. Wait as long as Retry-After says.",
            "type": "rate_limit_error",
        }
    }
)


class RateLimit:
    """Stands in front of an application."""

    def __init__(self, app: App) -> None:
        self._app = app
        storage = RedisStorage(settings.CELERY_BROKER_URL, implementation="redispy", key_prefix="anex-edge")
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._address_rate = parse(settings.ANEX_ADDRESS_RATE)
        self._key_rate = parse(settings.ANEX_KEY_RATE)
        self._blind_until = 0.0

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass the request on, or answer 429."""
        wait_s = await self._wait_s(scope) if scope["type"] == "http" and scope["path"].startswith(API_PATHS) else 0
        if wait_s:
            await _refuse(send, wait_s)
        else:
            await self._app(scope, receive, send)

    async def _wait_s(self, scope: Scope) -> int:
        """Seconds until the caller is heard again; 0 to pass."""
        if clock.monotonic() < self._blind_until:
            return 0
        try:
            async with asyncio.timeout(PATIENCE_S):
                for rate, caller in self._counted(scope):
                    if not await self._limiter.hit(rate, caller):
                        stats = await self._limiter.get_window_stats(rate, caller)
                        return max(1, math.ceil(stats.reset_time - time.time()))
        except (RedisError, OSError) as error:
            self._blind_until = clock.monotonic() + REST_S
            log.warning("requests are not counted for a while: %s", type(error).__name__)
        return 0

    def _counted(self, scope: Scope) -> Iterator[tuple[RateLimitItem, str]]:
        yield self._address_rate, f"address:{client_address(scope)}"
        # The whole credential and not the key's id in it, which is no secret: nobody uses up what is another's. Without
        # the scheme, whose case and distance are the client's to choose (`keys.authenticate`).
        if words := _header(scope, b"authorization").decode("latin-1").split():
            yield self._key_rate, f"key:{hashlib.sha256(words[-1].encode()).hexdigest()}"


def client_address(scope: Scope) -> str:
    """Who sent the request: what the outermost of our proxies saw. Of an IPv6 address, the network a customer has."""
    client = scope.get("client")
    address = client[0] if client else ""
    seen = [hop.strip() for hop in _header(scope, b"x-forwarded-for").decode("latin-1").split(",")]
    if (proxies := settings.ANEX_TRUSTED_PROXIES) and seen != [""]:
        address = seen[-min(proxies, len(seen))]
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))
    return str(parsed)


def _header(scope: Scope, name: bytes) -> bytes:
    return b",".join(value for key, value in scope["headers"] if key == name)


async def _refuse(send: Any, wait_s: int) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(BODY)).encode()),
        (b"retry-after", str(wait_s).encode()),
        (b"x-request-id", uuid4().hex.encode()),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})
