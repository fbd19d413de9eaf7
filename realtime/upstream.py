"""Asks the servers of a model: another one where the first gave nothing yet, none once bytes have gone on."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, TypeVar

from anex.core import tracing
from inference.backends.answers import Refused, read_answer
from inference.backends.client import Client, Stream
from inference.backends.faults import ServerLost, UpstreamError
from inference.backends.registry import Server
from realtime.servers import Lease, Servers

# A server that says nothing for so long has failed; a long prompt or a queue may take minutes.
SILENCE_S: Final = 180.0
# As many servers are asked at most.
MOST_SERVERS: Final = 3

T = TypeVar("T")
Written = Callable[[Server], Awaitable[bytes]]


class Begun:
    """An answer whose first bytes are there; `heard` is called with each block of it."""

    def __init__(self, stream: Stream, first: bytes) -> None:
        self._stream = stream
        self._first = first
        self.heard: Callable[[], None] = _nothing

    async def blocks(self) -> AsyncIterator[bytes]:
        """All bytes as they come; raises `UpstreamError` where they break off."""
        block = self._first
        while block:
            self.heard()
            yield block
            block = await self._stream.read()

    async def finish(self) -> None:
        """See `Stream.finish`."""
        await self._stream.finish()


class Upstream:
    """The way to the model servers for one event loop."""

    def __init__(self, client: Client, servers: Servers, *, silence_s: float = SILENCE_S) -> None:
        self._client = client
        self._servers = servers
        self._silence_s = silence_s

    async def complete(self, model_id: str, ask: Callable[[Client, Server], Awaitable[T]]) -> T:
        """What `ask` returns at the first server that answers. Raises as `stream`."""
        with _span(model_id) as span:
            lease, answer = await self._first(model_id, lambda server: ask(self._client, server), span)
            lease.worked()
            return answer

    @asynccontextmanager
    async def stream(self, model_id: str, path: str, write: Written) -> AsyncIterator[Begun]:
        """The answer to what `write` makes for the server that is asked; leaving the block ends it at the server.

        Raises `Refused`, `UpstreamError`, Unavailable (503), TooManyRequests (429).
        """

        async def begin(server: Server) -> tuple[AbstractAsyncContextManager[Stream], Begun]:
            opened = self._client.stream(server, path, await write(server), silence_s=self._silence_s)
            stream = await opened.__aenter__()
            try:
                return opened, await _begun(stream)
            except BaseException as error:
                await opened.__aexit__(type(error), error, error.__traceback__)
                raise

        with _span(model_id) as span:
            lease, (opened, begun) = await self._first(model_id, begin, span)
            begun.heard = lease.heard
            try:
                yield begun
            except BaseException as error:
                lease.end(error)
                raise
            else:
                lease.end(None)
            finally:
                await opened.__aexit__(None, None, None)

    async def _first(self, model_id: str, ask: Callable[[Server], Awaitable[T]], span: tracing.Span) -> tuple[Lease, T]:
        tried: set[int] = set()
        while True:
            lease = self._servers.lease(model_id, tried=tried)
            span.note({"anex.server": lease.server.id, "anex.servers_tried": len(tried) + 1})
            try:
                return lease, await ask(lease.server)
            except BaseException as error:
                lease.end(error)
                tried.add(lease.server.id)
                is_last = len(tried) >= MOST_SERVERS or not self._servers.has_other(model_id, tried)
                if is_last or not isinstance(error, UpstreamError):
                    raise


def _span(model_id: str) -> tracing.Span:
    """Of one request to a model's servers, until its answer has ended."""
    return tracing.span("ask a model server", kind="client", facts={"anex.model": model_id})


def _nothing() -> None:
    pass


async def _begun(stream: Stream) -> Begun:
    if stream.status != 200:
        raise Refused(read_answer(stream.status, await stream.whole()))
    first = await stream.read()
    if not first:
        raise ServerLost("The model server ended its answer before it began.", sent=True)
    return Begun(stream, first)
