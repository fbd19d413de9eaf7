"""The edge of the APIs: requests that come faster than accepted are refused before anything is parsed or looked up.

Counted by address and by key (see anex/rates.py). ASGI, so that it stands in front of Django and of raw handlers alike.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

import orjson
from django.conf import settings
from limits import RateLimitItem, parse

from anex.core import log_ids, openai_errors
from anex.core.asgi import App, Scope
from anex.core.errors import TooManyRequests
from anex.rates import Rates
from anex.refusals import API_PATHS, OPENAI_PATHS

# The price calculator reads and counts a text of anybody's.
CALCULATOR: Final = "/pricing"
_COUNTS: Final = parse("30 per minute")
_MOST_COUNTED: Final = 1024 * 1024
_LONGEST_ADDRESS: Final = 100
TOO_MUCH: Final = b"The calculator reads the beginning of a file: send at most 1 MiB of it."
MESSAGE = "Requests arrive faster than they are accepted. Wait as long as Retry-After says."
# Reference 003, RateLimitError.
DETAIL = {"code": "rate_limit_exceeded", "message": MESSAGE, "type": "rate_limit_error"}


class RateLimit:
    """Stands in front of an application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.rates = Rates(settings.CELERY_BROKER_URL, prefix=f"{settings.ANEX_VALKEY_PREFIX}anex-edge")
        self._address_rate = parse(settings.ANEX_ADDRESS_RATE)
        self._key_rate = parse(settings.ANEX_KEY_RATE)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass the request on, or answer 429."""
        is_counted = scope["type"] == "http" and scope["path"].startswith((*API_PATHS, CALCULATOR))
        wait_s = self._wait_s(scope) if is_counted else 0
        if _is_too_much(scope):
            await _answer(send, 413, TOO_MUCH, [(b"content-type", b"text/plain")])
        elif wait_s:
            await _refuse(send, wait_s, is_openai=scope["path"].startswith(OPENAI_PATHS))
        else:
            await self._app(scope, receive, send)

    def _wait_s(self, scope: Scope) -> int:
        """Seconds until the caller is heard again; 0 to pass."""
        for rate, caller in self._counted(scope):
            if wait_s := self.rates.hit(rate, caller):
                return wait_s
        return 0

    def _counted(self, scope: Scope) -> Iterator[tuple[RateLimitItem, str]]:
        if scope["path"].startswith(CALCULATOR):
            if scope["method"] == "POST":
                yield _COUNTS, f"calculator:{client_address(scope)}"
            return
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
    return _counted_as(address) if len(address) <= _LONGEST_ADDRESS else "unknown"


@lru_cache(maxsize=4096)
def _counted_as(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))
    return str(parsed)


def _header(scope: Scope, name: bytes) -> bytes:
    return b",".join(value for key, value in scope["headers"] if key == name)


def _is_too_much(scope: Scope) -> bool:
    """Whether the calculator is sent more than it would read, or does not know how much."""
    if scope["type"] != "http" or not scope["path"].startswith(CALCULATOR) or scope["method"] != "POST":
        return False
    length = _header(scope, b"content-length")
    return not length.isdigit() or int(length) > _MOST_COUNTED


async def _refuse(send: Any, wait_s: int, *, is_openai: bool) -> None:
    told = openai_errors.of(TooManyRequests(MESSAGE, retry_after=wait_s)) if is_openai else DETAIL
    headers = [(b"content-type", b"application/json"), (b"retry-after", str(wait_s).encode())]
    await _answer(send, 429, orjson.dumps({"error": told}), headers)


async def _answer(send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers += [(b"content-length", str(len(body)).encode()), (b"x-request-id", log_ids.request_id().encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
