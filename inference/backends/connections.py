"""Connections to model servers on which whole answers are read: HTTP/1.1, kept open between requests.

aiohttp does the same at four times the processor time, which is most of what a row of a job costs; streams use it (see
docs/decisions/lean-client.md).
"""

import asyncio
import ssl
import zlib
from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import httptools

from anex.core import clock, tracing
from inference.backends.faults import ServerFailed, ServerLost
from inference.backends.registry import Server

CONNECT_TIMEOUT_S = 5.0
MOST_ANSWER_BYTES = 64 * 1024 * 1024
# Shorter than the 5 s after which vLLM closes an idle connection: no request is sent into a closing one.
KEEP_ALIVE_S = 3.0
# A longer body is handed over in pieces: the whole of a row of 200 MB would be copied, or encrypted, at once.
PIECE_BYTES: Final = 1024 * 1024
_FINAL: Final = 200  # statuses below it announce another one
_OF_A_PATH: Final = "/%:@!$&'()*+,;=~"
_TRACEPARENT: Final = tracing.PARENT.encode()
_GZIP_OR_DEFLATE: Final = zlib.MAX_WBITS | 32


class _Place(NamedTuple):
    """Where a server is."""

    host: str
    port: int
    secure: bool


@dataclass(slots=True)
class Response:
    """A whole answer, or what is there of it; names of headers are in lower case."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    begun: bool = False

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing in its head tells where it ends."""
        return self.begun and not {"content-length", "transfer-encoding"} & self.headers.keys()

    def read(self) -> bytes:
        """The body; one that was compressed unasked is unpacked. Raises ServerFailed."""
        raw = self.body[0] if len(self.body) == 1 else b"".join(self.body)
        if self.headers.get("content-encoding", "identity") == "identity":
            return raw
        unpacking = zlib.decompressobj(_GZIP_OR_DEFLATE)
        try:
            body = unpacking.decompress(raw, MOST_ANSWER_BYTES)
        except zlib.error as error:
            raise ServerFailed("The model server's answer is compressed in a way nobody asked for.") from error
        if unpacking.unconsumed_tail:
            raise _too_large()
        return body


class _Connection(asyncio.Protocol):
    """One connection, with one request under way at most. `keeps` tells whether another may follow."""

    _transport: asyncio.Transport

    def __init__(self, opened: "set[_Connection]") -> None:
        self._opened = opened
        self._parser = httptools.HttpResponseParser(self)
        self._response = Response()
        self._answer: asyncio.Future[Response] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.keeps = False
        self.idle_since = 0.0

    async def ask(self, head: bytes, body: bytes, *, timeout_s: float, patience_s: float) -> Response:
        """Send a request and read the answer; `patience_s` of `timeout_s` are left. Raises ServerFailed, ServerLost."""
        loop = asyncio.get_running_loop()
        self._response, self._answer, self.keeps = Response(), loop.create_future(), False
        timer = loop.call_later(patience_s, self._time_out, timeout_s)
        try:
            if len(body) <= PIECE_BYTES:
                self._transport.write(head + body)
            else:
                await self._write_long(head, body)
            return await self._answer
        finally:
            timer.cancel()
            self._answer = None
            if not self.keeps:
                self._transport.abort()

    def close(self) -> None:
        """Nothing is asked any more."""
        self.keeps = False
        self._transport.abort()

    async def _write_long(self, head: bytes, body: bytes) -> None:
        self._transport.write(head)
        rest = memoryview(body)
        while rest and self._answer and not self._answer.done():
            self._transport.write(rest[:PIECE_BYTES])
            rest = rest[PIECE_BYTES:]
            await self._writable.wait()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._opened.add(self)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.close()  # nothing was asked
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.keeps = False
            self._fail(ServerFailed("The model server's answer is not HTTP."), error)

    def connection_lost(self, error: Exception | None) -> None:
        self._opened.discard(self)
        self.keeps = False
        if error is None and self._response.ends_with_connection:
            self._finish()
        when = "in the middle of its answer" if self._response.begun else "before it answered"
        self._fail(ServerLost(f"The model server closed the connection {when}.", sent=True), error)

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():
            self.keeps = False  # one answer too many

    def on_header(self, name: bytes, value: bytes) -> None:
        self._response.headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._response.status, self._response.begun = self._parser.get_status_code(), True

    def on_body(self, data: bytes) -> None:
        self._response.body.append(data)
        self._count(len(data))

    def on_message_complete(self) -> None:
        if self._response.status < _FINAL:
            self._response = Response()
        elif self._answer and not self._answer.done():
            self.keeps = self._parser.should_keep_alive() and self._writable.is_set()
            self._finish()

    def _count(self, size_bytes: int) -> None:
        self._response.size_bytes += size_bytes
        if self._response.size_bytes > MOST_ANSWER_BYTES:
            self._response.body.clear()
            self._fail(_too_large())

    def _time_out(self, timeout_s: float) -> None:
        self._fail(ServerFailed(f"The model server did not answer in {timeout_s:g} s."))

    def _finish(self) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result(self._response)
            self._response = Response()
        self._writable.set()

    def _fail(self, fault: Exception, cause: Exception | None = None) -> None:
        fault.__cause__ = cause
        if self._answer and not self._answer.done():
            self._answer.set_exception(fault)
        self._writable.set()


class Connections:
    """Any number of requests at once, of one event loop; a connection that has served one waits for the next."""

    def __init__(self) -> None:
        self._opened: set[_Connection] = set()
        self._idle: defaultdict[_Place, deque[_Connection]] = defaultdict(deque)
        self._tidying: asyncio.TimerHandle | None = None

    async def post(self, server: Server, path: str, body: bytes, *, timeout_s: float) -> Response:
        """The answer to `body`; `timeout_s` covers everything from connecting to the last byte.

        Raises ServerLost where nothing listens or the connection ends, ServerFailed where the answer takes too long, is
        too large or is not HTTP.
        """
        place, head = _request(server.base_url + path, server.api_key, server.reuse_connections)
        patience_s, connection = timeout_s, self._take(place)
        if connection is None:
            began = clock.monotonic()
            connection = await self._connect(place, min(timeout_s, CONNECT_TIMEOUT_S))
            patience_s -= clock.monotonic() - began
        if traceparent := tracing.traceparent():
            head += b"%s: %s\r\n" % (_TRACEPARENT, traceparent.encode())
        head += b"Content-Length: %d\r\n\r\n" % len(body)
        response = await connection.ask(head, body, timeout_s=timeout_s, patience_s=patience_s)
        if connection.keeps:
            self._keep(place, connection)
        return response

    def close(self) -> None:
        """End every connection at the loop's next turn; nothing is asked any more."""
        if self._tidying:
            self._tidying.cancel()
        for connection in list(self._opened):
            connection.close()
        self._idle.clear()

    def _take(self, place: _Place) -> _Connection | None:
        waiting = self._idle[place]
        while waiting:
            connection = waiting.pop()
            if connection.keeps and clock.monotonic() < connection.idle_since + KEEP_ALIVE_S:
                return connection
            connection.close()
        return None

    def _keep(self, place: _Place, connection: _Connection) -> None:
        connection.idle_since = clock.monotonic()
        self._idle[place].append(connection)
        if self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(KEEP_ALIVE_S, self._tidy)

    def _tidy(self) -> None:
        """Close what has waited too long; whoever came last is taken first, so the others are in front."""
        self._tidying, now = None, clock.monotonic()
        for place, waiting in list(self._idle.items()):
            while waiting and (not waiting[0].keeps or now >= waiting[0].idle_since + KEEP_ALIVE_S):
                waiting.popleft().close()
            if not waiting:
                del self._idle[place]
        if self._idle:
            self._tidying = asyncio.get_running_loop().call_later(KEEP_ALIVE_S, self._tidy)

    async def _connect(self, place: _Place, timeout_s: float) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                tls = _trusted() if place.secure else None
                opened = self._opened
                _, connection = await loop.create_connection(
                    lambda: _Connection(opened), place.host, place.port, ssl=tls
                )
        except (OSError, UnicodeError) as error:  # a time-out is one
            raise ServerLost("The model server cannot be reached.", sent=False) from error
        return connection


@lru_cache(64)
def _request(url: str, api_key: str, reuse: bool) -> tuple[_Place, bytes]:
    """Where a request goes, and its head but for the length. Raises ServerFailed for a key that cannot be sent."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    lines = [
        f"POST {quote(parts.path, safe=_OF_A_PATH)} HTTP/1.1",
        f"Host: {parts.netloc.encode('idna').decode()}",
        "Content-Type: application/json",
        "Accept: */*",
        "Accept-Encoding: identity",
        "User-Agent: anex",
    ]
    if api_key:
        if not (api_key.isascii() and api_key.isprintable()):
            raise ServerFailed("The key of the model server cannot be sent in a header.")
        lines.append(f"Authorization: Bearer {api_key}")
    if not reuse:
        lines.append("Connection: close")
    place = _Place(parts.hostname or "", parts.port or (443 if secure else 80), secure)
    return place, "".join(f"{line}\r\n" for line in lines).encode()


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()


def _too_large() -> ServerFailed:
    return ServerFailed(f"The model server's answer is larger than {MOST_ANSWER_BYTES} bytes.")
