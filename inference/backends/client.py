"""The one HTTP client for model servers: OpenAI-compatible ones and System One ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from types import TracebackType
from typing import Self

import aiohttp

from anex.core import clock, tracing
from inference.backends.answers import Answer, check_status, read_answer
from inference.backends.connections import (
    CONNECT_TIMEOUT_S,
    KEEP_ALIVE_S,
    MOST_ANSWER_BYTES,
    PIECE_BYTES,
    Connections,
)
from inference.backends.faults import ServerFailed, ServerLost
from inference.backends.registry import Server
from inference.backends.usage import MOST_TOKENS

# How long the end of a stream is waited for once all that matters was read.
FINISH_S = 0.1


class Client:
    """An async context manager around one session; usable by any number of tasks of one event loop."""

    _session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "anex"},
        )
        self._connections = Connections()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.close()
        await self._session.close()
        await asyncio.sleep(0)  # connections end at the loop's next turn

    async def complete(
        self,
        server: Server,
        path: str,
        body: bytes,
        *,
        timeout_s: float,
        input_bound: int = MOST_TOKENS,
        output_bound: int = MOST_TOKENS,
    ) -> Answer:
        """Post `body` to `path` (below the server's base URL, e.g. `/chat/completions`) and read the whole answer.

        `timeout_s` covers everything from connecting to the last byte; the bounds are the most tokens the request can
        have used. Raises Throttled (429, 503), ServerFailed (any other status but 200 and refusals of the request, a
        time-out, an answer too large or no JSON object) or ServerLost (nothing listens, or the connection ended before
        the answer did).
        """
        response = await self._connections.post(server, path, body, timeout_s=timeout_s)
        if response.status != 200:
            check_status(response.status, response.headers, now=clock.now())
        # Not in a thread: decoding holds the interpreter's lock, so the event loop would wait all the same.
        return read_answer(response.status, response.read(), input_bound=input_bound, output_bound=output_bound)

    @asynccontextmanager
    async def stream(self, server: Server, path: str, body: bytes, *, silence_s: float) -> AsyncIterator["Stream"]:
        """Post `body` and read the answer as it comes, until the block is left; what has not come then is given up.

        Raises as `complete` does before the block begins, and in it where blocks are read. The server may be silent for
        `silence_s` seconds.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence_s)
        with _Faults(silence_s) as seen:
            response = await self._request(server, path, body, timeout)
            seen.answered = True
        try:
            with _Faults(silence_s, answered=True):
                check_status(response.status, response.headers, now=clock.now())
            yield Stream(response, silence_s)
        finally:
            response.close()

    async def status(self, server: Server, url: str, *, body: bytes | None = None) -> int:
        """The status of a GET, or of a POST of `body`, on a connection of its own; no answer is read.

        Raises `UpstreamError`.
        """
        with _Faults(CONNECT_TIMEOUT_S):
            async with self._session.request(
                "GET" if body is None else "POST",
                url,
                data=body,
                headers=_headers(server) | {"Connection": "close"},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S),
            ) as response:
                return response.status

    async def text(self, server: Server, url: str) -> bytes:
        """The body of a GET, empty unless it was answered 200. Raises `UpstreamError`."""
        with _Faults(CONNECT_TIMEOUT_S):
            async with self._session.get(
                url,
                headers=_headers(server),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S),
            ) as response:
                return await _read(response) if response.status == 200 else b""

    async def _request(
        self, server: Server, path: str, body: bytes, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers = _headers(server) | tracing.headers()
        if not server.reuse_connections:
            headers["Connection"] = "close"
        return await self._session.post(
            server.base_url + path,
            # Otherwise the whole of a row of 200 MB would be copied for the socket at once, on the event loop.
            data=BytesIO(body) if len(body) > PIECE_BYTES else body,
            headers=headers,
            allow_redirects=False,
            timeout=timeout,
        )


def _headers(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.api_key}"} if server.api_key else {}


class Stream:
    """An answer that is still coming in."""

    def __init__(self, response: aiohttp.ClientResponse, silence_s: float) -> None:
        self._response = response
        self._silence_s = silence_s

    @property
    def status(self) -> int:
        """200, or the status of a refusal of the request."""
        return self._response.status

    async def read(self) -> bytes:
        """The bytes that came since, at least one; empty at the end. Raises ServerFailed and ServerLost."""
        with _Faults(self._silence_s, answered=True):
            return await self._response.content.readany()

    async def whole(self) -> bytes:
        """All that is left. Raises ServerFailed and ServerLost."""
        with _Faults(self._silence_s, answered=True):
            return await _read(self._response)

    async def finish(self) -> None:
        """Read the end of an answer that is complete, so that its connection serves again; for a moment at most."""
        with suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
            async with asyncio.timeout(FINISH_S):
                while await self._response.content.readany():
                    pass


class _Faults:
    """A block in which what aiohttp raises becomes the faults of a model server."""

    __slots__ = ("_timeout_s", "answered")

    def __init__(self, timeout_s: float, *, answered: bool = False) -> None:
        self._timeout_s = timeout_s
        self.answered = answered

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            raise ServerLost("The model server cannot be reached.", sent=False) from error
        if isinstance(error, TimeoutError):
            raise ServerFailed(f"The model server did not answer in {self._timeout_s:g} s.") from error
        if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | ConnectionError):
            when = "in the middle of its answer" if self.answered else "before it answered"
            raise ServerLost(f"The model server closed the connection {when}.", sent=True) from error
        if isinstance(error, aiohttp.ClientError):
            raise ServerFailed("The model server's answer is not HTTP.") from error


async def _read(response: aiohttp.ClientResponse) -> bytes:
    length = response.content_length
    if length is not None and length <= MOST_ANSWER_BYTES and "Content-Encoding" not in response.headers:
        return await response.read()
    blocks, size = [], 0
    async for block in response.content.iter_any():
        blocks.append(block)
        size += len(block)
        if size > MOST_ANSWER_BYTES:
            raise ServerFailed(f"The model server's answer is larger than {MOST_ANSWER_BYTES} bytes.")
    return b"".join(blocks)
