"""One request that is answered before Django, and its answer in the shape of the OpenAI-compatible host."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import orjson

from accounts.callers import Caller
from accounts.services import keys
from anex.core import asgi, openai_errors
from anex.core.asgi import App, ClientGone, Receive, Scope, Send
from anex.core.errors import AnexError, MethodNotAllowed
from anex.core.retrying import Headers, headers
from anex.core.threads import ANSWER_S, Threads
from jobs.api.endpoint import check_access

log = logging.getLogger(__name__)

in_thread: Final = Threads(4, "files", patience_s=ANSWER_S).run
# A client that reads the answer only when it has sent all is heard out so long.
LINGER_S: Final = 30.0


class Exchange(asgi.Exchange):
    """A request and the answer to it, before which its body may have to be heard out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send)
        self.heard_out = scope["method"] in ("GET", "HEAD")

    async def authenticate(self, *, answers_frozen: bool = False) -> Caller:
        """Who calls; raises what a view of the batch API does."""
        return await in_thread(_caller, self.header(b"authorization"), self.scope["method"], answers_frozen)

    async def answer(self, status: int, body: Any, more: Headers | None = None) -> None:
        """A whole answer in JSON; what the client still sends is heard out for a while first."""
        data = orjson.dumps(body)
        told = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode()), *(more or [])]
        await self.start(status, told if self.heard_out else [*told, (b"connection", b"close")])
        await self.send({"type": "http.response.body", "body": data, "more_body": True})
        try:
            async with asyncio.timeout(LINGER_S):
                while not self.heard_out:
                    await self.hear()
        except (TimeoutError, ClientGone):
            pass
        await self.send({"type": "http.response.body", "body": b""})

    async def refuse(self, error: AnexError, more: Headers | None = None) -> None:
        """The answer to what was refused or failed."""
        told = {"error": openai_errors.of(error)}
        await self.answer(error.status, told, [*headers(error), *(more or [])])

    async def hear(self) -> bytes:
        """The next piece of the body; `heard_out` after the last. Raises ClientGone."""
        event = await self.receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        self.heard_out = not event.get("more_body", False)
        body: bytes = event.get("body", b"")
        return body


def endpoint(handler: Callable[[Exchange], Awaitable[None]], *methods: str) -> App:
    """The ASGI application of one path; whatever goes wrong before the answer began is answered."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            if scope["method"] not in methods:
                raise MethodNotAllowed(*methods)
            await handler(exchange)
        except ClientGone:
            return
        except Exception as error:
            told = _told(error, exchange.request_id)
            if exchange.answered:
                raise
            await exchange.refuse(told)

    return serve


def _caller(header: str | None, method: str, answers_frozen: bool) -> Caller:
    caller = keys.authenticate(header)
    check_access(caller, method, answers_frozen=answers_frozen)
    return caller


def _told(error: Exception, request_id: str) -> AnexError:
    """What the client is told of an exception; what is not the client's doing is logged."""
    if isinstance(error, AnexError):
        return error
    log.error("a request failed", exc_info=error)
    return AnexError("Something went wrong on our side. Try again.")
