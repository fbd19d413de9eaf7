"""What every request leaves behind: an id in its answer, a log line without its query, and its time in /metrics."""

import logging
import os
from collections.abc import Awaitable
from typing import Any, Final

from anex.core import clock, log_ids, measures, tracing
from anex.core.asgi import App, Receive, Scope, Send

log = logging.getLogger("anex.requests")

_HEADER: Final = b"x-request-id"
_TRACEPARENT: Final = tracing.PARENT.encode()
_QUIET: Final = ("/static/", "/metrics", "/healthz", "/readyz")
_LONGEST_PATH: Final = 200
_UNSENT: Final = 499
_OURS: Final = 500
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Observed:
    """Stands in front of everything."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on under an id of its own and tell how it went."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        log_ids.begin(request=os.urandom(16).hex())
        if scope["type"] == "http":
            with _span(scope) as span:
                await _serve(self._app, scope, receive, send, span)
        else:
            await self._app(scope, receive, send)


def _span(scope: Scope) -> tracing.Span:
    """The request's; below the one that its client names, if any."""
    if not tracing.is_on() or scope["path"].startswith(_QUIET):
        return tracing.NOTHING
    named = [value.decode("latin-1") for name, value in scope["headers"] if name == _TRACEPARENT]
    method, surface = scope["method"] if scope["method"] in _METHODS else "_OTHER", measures.surface_of(scope["path"])
    facts: dict[str, tracing.Fact] = {"http.request.method": method, "anex.surface": surface}
    return tracing.span(f"{method} {surface}", kind="server", parent=named[0] if len(named) == 1 else "", facts=facts)


async def _serve(app: App, scope: Scope, receive: Receive, send: Send, span: tracing.Span) -> None:
    # What a client that left before was not answered with.
    began, status, begun_s = clock.monotonic(), _UNSENT, None

    # No coroutine: each chunk of a stream would be one more.
    def tell(event: dict[str, Any]) -> Awaitable[None]:
        nonlocal status, begun_s
        if event["type"] == "http.response.start":
            status, begun_s = event["status"], clock.monotonic() - began
            if _HEADER not in [name for name, _ in event["headers"]]:
                event["headers"] = [*event["headers"], (_HEADER, log_ids.request_id().encode())]
        return send(event)

    try:
        await app(scope, receive, tell)
    except Exception:
        status = status if status != _UNSENT else 500
        raise
    finally:
        whole_s = clock.monotonic() - began
        measures.count_request(scope["path"], status, begun_s=begun_s, whole_s=whole_s)
        span.note({"http.response.status_code": status})
        if status >= _OURS:
            span.fail(str(status))
        _log(scope, status, whole_s)


def _log(scope: Scope, status: int, took_s: float) -> None:
    path, method = scope["path"], scope["method"]
    level = logging.DEBUG if path.startswith(_QUIET) else logging.INFO
    if log.isEnabledFor(level):
        path, took_ms = path[:_LONGEST_PATH], round(took_s * 1000, 1)
        facts = {"method": method, "path": path, "status": status, "duration_ms": took_ms}
        log.log(level, "%s %s %s in %s ms", method, path, status, took_ms, extra={"facts": facts})
