"""What handlers before Django share: the types of ASGI, and a request with the head of its answer."""

from collections.abc import Awaitable, Callable
from typing import Any

from anex.core import log_ids
from anex.core.retrying import Headers

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class ClientGone(Exception):
    """Nobody is left to answer."""


class Exchange:
    """A request and the answer to it; `request_id` is told with every answer, and so are the headers in `notes`."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.request_id = log_ids.request_id()
        self.notes: Headers = []
        self.answered = False

    def header(self, name: bytes) -> str | None:
        """The value of a header; what is sent twice is joined, as RFC 9110 has it."""
        values: list[bytes] = [value for key, value in self.scope["headers"] if key == name]
        return b",".join(values).decode("latin-1") if values else None

    def note(self, name: bytes, value: str) -> None:
        """Tell this with the answer, in place of what was noted under the name."""
        self.notes = [(noted, told) for noted, told in self.notes if noted != name]
        self.notes.append((name, value.encode()))

    async def start(self, status: int, headers: Headers) -> None:
        """Begin the answer."""
        self.answered = True
        told = [*headers, *self.notes, (b"x-request-id", self.request_id.encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": told})
