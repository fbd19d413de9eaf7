"""How fast callers come, over all processes: counted here, and added up in Valkey every moment.

A request is judged by what is known at once and waits for nothing. Other processes' counts are known a moment later;
while Valkey is away each process counts for itself. docs/decisions/edge-rate-limit.md says why so.
"""

import asyncio
import logging
import math
from contextvars import Context
from typing import Final

from limits import RateLimitItem
from redis.asyncio import Redis
from redis.exceptions import RedisError

from anex.core import clock

log = logging.getLogger(__name__)

# How long a process waits with what it counted.
EVERY_S: Final = 0.1
PATIENCE_S: Final = 1.0
# How long Valkey is left alone after it did not answer.
REST_S: Final = 5.0
# Callers that one call adds up.
_AT_ONCE: Final = 500

# Adds to the counters of the windows that run; answers how far each window is, its count and that of the one before.
_ADD_UP: Final = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local found = {}
for i = 1, #KEYS do
    local period, hits = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    local window = math.floor(now / period)
    local name = KEYS[i] .. ':' .. window
    local count
    if hits > 0 then
        count = redis.call('INCRBY', name, hits)
        redis.call('EXPIRE', name, 2 * period)
    else
        count = tonumber(redis.call('GET', name) or 0)
    end
    local before = tonumber(redis.call('GET', KEYS[i] .. ':' .. (window - 1)) or 0)
    found[i] = {tostring(now - window * period), count, before}
end
return found
"""


class _Count:
    """Hits of one caller: in the window that runs, the one before, and those that Valkey does not know yet."""

    __slots__ = ("amount", "before", "began", "count", "period", "unsent")

    def __init__(self, rate: RateLimitItem, now: float) -> None:
        self.amount, self.period = rate.amount, rate.get_expiry()
        self.began = now
        self.count = self.before = self.unsent = 0

    def wait_s(self, now: float) -> float:
        """Seconds until there is room for one more; 0 where there is."""
        if (passed := int((now - self.began) / self.period)) > 0:
            self.before = self.count + self.unsent if passed == 1 else 0
            self.count = self.unsent = 0
            self.began += passed * self.period
        room = self.amount - self.count - self.unsent
        left = self.period - (now - self.began)
        if self.before * left < room * self.period:
            return 0
        return left - self.period * max(room, 0) / self.before if room > 0 else left

    def learn(self, now: float, elapsed: float, count: int, before: int) -> None:
        """What all processes have counted."""
        self.began, self.count, self.before = now - elapsed, count, before


class Rates:
    """Sliding windows of two counters for any number of callers."""

    def __init__(self, url: str, *, prefix: str) -> None:
        self._valkey = Redis.from_url(url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
        self._add_up = self._valkey.register_script(_ADD_UP)
        self._prefix = prefix
        self._counts: dict[str, _Count] = {}
        self._told: set[str] = set()
        self._sharing: asyncio.Task[None] | None = None
        self._swept = clock.monotonic()

    def hit(self, rate: RateLimitItem, caller: str) -> int:
        """Count a request: 0, or in how many seconds the caller is heard again. What is refused is not counted."""
        now = clock.monotonic()
        count = self._counts.get(caller)
        if count is None:
            count = self._counts[caller] = _Count(rate, now)
        self._told.add(caller)
        if self._sharing is None or self._sharing.done():
            # For every caller: its lines and spans are not those of the request that happened to start it.
            self._sharing = asyncio.create_task(self._share_soon(), context=Context())
        if wait_s := count.wait_s(now):
            return max(1, math.ceil(wait_s))
        count.unsent += 1
        return 0

    async def share(self) -> bool:
        """Tell Valkey what was counted since the last time, and learn what the other processes have counted.

        False where it does not answer; what it was to be told is kept.
        """
        self._sweep()
        told, self._told = list(self._told), set()
        try:
            for start in range(0, len(told), _AT_ONCE):
                await self._add(told[start : start + _AT_ONCE])
        except (RedisError, OSError) as error:
            log.warning("requests are counted by each process for itself: %s", type(error).__name__)
            self._told.update(told)
            return False
        return True

    async def close(self) -> None:
        """Let go of Valkey."""
        if self._sharing:
            self._sharing.cancel()
        await self._valkey.aclose()

    async def _share_soon(self) -> None:
        while self._told:
            await asyncio.sleep(EVERY_S)
            if not await self.share():
                await asyncio.sleep(REST_S)

    async def _add(self, callers: list[str]) -> None:
        counts = [self._counts[caller] for caller in callers]
        sent = [count.unsent for count in counts]
        values = [value for count, hits in zip(counts, sent, strict=True) for value in (count.period, hits)]
        found = await self._add_up(keys=[f"{self._prefix}:{caller}" for caller in callers], args=values)
        now = clock.monotonic()
        for count, hits, (elapsed, total, before) in zip(counts, sent, found, strict=True):
            # Those that a new window left behind are not told.
            count.unsent = max(0, count.unsent - hits)
            count.learn(now, float(elapsed), total, before)

    def _sweep(self) -> None:
        """Forget who has not come for two windows."""
        now = clock.monotonic()
        if now - self._swept < REST_S:
            return
        self._swept = now
        self._counts = {
            name: count
            for name, count in self._counts.items()
            if name in self._told or now - count.began < 2 * count.period
        }
