"""A relay in front of a service, to take it away: refused, or silent on connections that stay open."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, Self

from anex.supervisor.valkey import free_port

Way = Literal["there", "refused", "silent", "stopped"]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """A loopback port that leads to wherever `connect` does; a context manager.

    While it is `silent` connections are accepted and kept, and nothing passes, in no direction: what was sent is lost
    with its connection, as behind a host that is gone. While it is `stopped` nothing passes either, and all of it does
    afterwards, as with a process that gets no time.
    """

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self.port = free_port()
        self._connect = connect
        self._way: Way = "there"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._runs = asyncio.Event()
        self._runs.set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen)
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def go(self, way: Way) -> None:
        """Change how connections fare, those that are open included."""
        self._call(self._go, way)

    def _call(self, function: Callable[..., Awaitable[None]], *arguments: object) -> None:
        async def run() -> None:
            await function(*arguments)

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    async def _go(self, way: Way) -> None:
        was, self._way = self._way, way
        if way == "stopped":
            self._runs.clear()
        else:
            self._runs.set()
        if way == "refused":
            await self._refuse()
        elif was == "refused":
            await self._listen()
        elif was == "silent":
            # What was silent never speaks again.
            self._drop()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=512)

    async def _refuse(self) -> None:
        if self._server:
            self._server.close()
        self._drop()

    async def _end(self) -> None:
        self._runs.set()
        await self._refuse()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        # A transport closes its socket in the turn after it was aborted.
        await asyncio.sleep(0)

    def _drop(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        others: asyncio.StreamWriter | None = None
        try:
            if self._way == "silent":
                await self._swallow(reader)
                return
            await self._runs.wait()
            theirs, others = await self._connect()
            self._writers.add(others)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(reader, others))
                both.create_task(self._pass(theirs, writer))
        except* OSError:
            pass
        finally:
            for end in filter(None, (writer, others)):
                self._writers.discard(end)
                end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What comes, until either side ends."""
        while block := await reader.read(65536):
            if self._way == "silent":
                await self._swallow(reader)
                break
            await self._runs.wait()
            writer.write(block)
            await writer.drain()
        raise ConnectionResetError

    @staticmethod
    async def _swallow(reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while await reader.read(65536):
                pass


def to_port(port: Callable[[], int]) -> Callable[[], Awaitable[Streams]]:
    """To a loopback port, looked up when somebody connects."""
    return lambda: asyncio.open_connection("127.0.0.1", port())


def to_socket(path: Callable[[], str]) -> Callable[[], Awaitable[Streams]]:
    """To a socket of the file system."""
    return lambda: asyncio.open_unix_connection(path())
