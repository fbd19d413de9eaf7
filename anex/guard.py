"""What no handler has to think of: headers that protect every answer, and an end to how much a request may be.

ASGI, outermost: it stands in front of Django and of raw handlers alike. docs/threat-model.md says against what.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Final

import orjson
from csp.utils import build_policy
from django.conf import settings

from anex import refusals
from anex.core.asgi import App, ClientGone, Receive, Scope, Send
from anex.core.errors import AnexError, InvalidRequest, TimedOut, TooLarge

Headers = list[tuple[bytes, bytes]]

MOST_URL: Final = 8 * 1024
MOST_HEAD: Final = 64 * 1024
MOST_HEADERS: Final = 200
# Of a body that Django reads; uploads and realtime requests have limits of their own.
MOST_BODY: Final = 2 * 1024 * 1024
BODY_S: Final = 60.0

# A passkey is made and used on our own pages alone, and so is the clipboard; everything else is asked of nobody.
_PERMISSIONS: Final = ", ".join(
    [f"{name}=(self)" for name in ("publickey-credentials-create", "publickey-credentials-get", "clipboard-write")]
    + [f"{name}=()" for name in ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")]
)
_FIXED: Final[Headers] = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", _PERMISSIONS.encode()),
]
# What says nothing of it is for who asked, once: a cache or the way back after a sign-out shows it to nobody else.
_UNCACHED: Final = (b"cache-control", b"no-store")
_CSP: Final = b"content-security-policy"
# What is no page of ours loads nothing, whatever a browser takes it for; a picture may have styles.
_NO_PAGE: Final = (
    b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
# The staff area's theme evaluates its expressions and ships inline scripts and styles (see settings).
_STAFF: Final = (
    b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data:; font-src 'self' data:; object-src 'none'; frame-ancestors 'none'; base-uri 'self'; "
    b"form-action 'self'"
)
_STAFF_PATHS: Final = "/admin/"


class UrlTooLong(InvalidRequest):
    """414: no link of ours is as long."""

    status = 414


class HeadTooLarge(InvalidRequest):
    """431: no client of ours sends as many headers, or such long ones."""

    status = 431


class Guard:
    """Stands in front of an application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._fixed = [*_FIXED, _UNCACHED]
        if settings.SECURE_HSTS_SECONDS:
            told = f"max-age={settings.SECURE_HSTS_SECONDS}; includeSubDomains; preload"
            self._fixed.append((b"strict-transport-security", told.encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it for its size; protect the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]

        def protected(message: dict[str, Any]) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = self.protect(path, message.get("headers", ()))
            return send(message)

        if refusal := _refusal(scope):
            await answer(scope, protected, refusal)
        else:
            await self._app(scope, receive, protected)

    def protect(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """The headers of an answer with those it lacks; what a handler says itself stands."""
        told = list(headers)
        names = {name.lower() for name, _ in told}
        told += [header for header in self._fixed if header[0] not in names]
        if _CSP not in names:
            told.append((_CSP, _STAFF if path.startswith(_STAFF_PATHS) else _NO_PAGE))
        return told


class Bounded:
    """Reads a body before Django does, which would take any, onto its disk, for as long as it comes."""

    def __init__(self, app: App, *, most_bytes: int = MOST_BODY, patience_s: float = BODY_S) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._patience_s = patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its whole body, or refuse it."""
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except ClientGone:
            return
        except AnexError as error:
            await answer(scope, send, error, [(b"connection", b"close")])
            return
        await self._app(scope, _first(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        too_large = TooLarge(f"The body is too large: at most {self._most_bytes:,} bytes are taken here.")
        if any(_exceeds(value, self._most_bytes) for name, value in scope["headers"] if name == b"content-length"):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    body += message.get("body", b"")
                    if len(body) > self._most_bytes:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise TimedOut("The body was not sent in time.") from None


async def answer(scope: Scope, send: Send, error: AnexError, more: Headers | None = None) -> None:
    """Refuse a request in the form of its surface."""
    told = refusals.in_json(scope["path"], error)
    headers = more or []
    if told is not None:
        kind, body = b"application/json", orjson.dumps(told)
    elif any(name == b"accept" and b"text/html" in value for name, value in scope["headers"]):
        kind, body = b"text/html; charset=utf-8", refusals.page(error).encode()
        headers = [*headers, (_CSP, build_policy().encode())]
    else:
        kind, body = b"text/plain; charset=utf-8", error.message.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _refusal(scope: Scope) -> AnexError | None:
    headers = scope["headers"]
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MOST_URL:
        return UrlTooLong(f"The URL is too long: at most {MOST_URL:,} bytes are taken.")
    if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > MOST_HEAD:
        told = f"The headers are too large: at most {MOST_HEADERS} of {MOST_HEAD:,} bytes in all are taken."
        return HeadTooLarge(told)
    return None


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _exceeds(length: bytes, most_bytes: int) -> bool:
    return not length.isdigit() or len(length) > 18 or int(length) > most_bytes


def _first(body: bytes, receive: Receive) -> Receive:
    """Answers the body once, then what is still to come: that the client has gone."""
    waiting = [body]

    async def read() -> dict[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return read
