"""Connections of the web process: uvicorn's, with an end to how long, and how large, the head of a request may be.

uvicorn waits for a head without an end and keeps what has come of it, header by header. And it waits without an end for
who does not read: meanwhile an answer that is read from Postgres keeps its connection there.
"""

import asyncio
import logging
import select
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

# From the first byte of a head, or from the connection, to the last.
HEAD_S: Final = 30.0
# What is refused with an answer is less (anex/guard.py).
MOST_HEAD: Final = 256 * 1024
# In which a client takes some of what waits for it; a slow line takes what a kernel holds back in this time.
STALL_S: Final = 300.0


class Connection(HttpToolsProtocol):
    """One client."""

    _timer: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    # That came since anything of a body did.
    _head_bytes = 0
    _is_head_begun = False

    def is_free(self) -> bool:
        """Whether nothing of a request has come, not even as far as the kernel: to close it then loses nothing."""
        if self._is_head_begun or (self.cycle is not None and not self.cycle.response_complete):
            return False
        socket = self.transport.get_extra_info("socket")
        waiting = select.poll()
        waiting.register(socket.fileno(), select.POLLIN)
        return not waiting.poll(0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._end()
        self._move_on()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads slower than it is sent; one that does not read at all is given up."""
        super().pause_writing()
        self._stall = self.loop.call_later(STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read."""
        self._move_on()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take in what has come, unless a head, or what follows a body, grows without an end."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MOST_HEAD:
            self._give_up()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._is_head_begun = True
        if self._timer is None:
            self._begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the head; those that follow a body say nothing to anybody here."""
        if self._timer is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._is_head_begun = False
        self._end()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A body has limits of its own."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The next head begins with nothing."""
        self._head_bytes = 0
        super().on_message_complete()

    def _begin(self) -> None:
        self._head_bytes = 0
        self._timer = self.loop.call_later(HEAD_S, self._give_up)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _move_on(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _give_up(self) -> None:
        self._end()
        if not self.transport.is_closing():
            self.transport.close()


class Page(WebSocketsSansIOProtocol):
    """The socket of a page. One that asks while the process ends is let in before it is told so."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.logger = logging.getLogger("uvicorn.sockets")
        # What HTTP answers of an ending process say; here it would undo the handshake.
        self.default_headers = [header for header in self.default_headers if header[0] != b"connection"]

    def end(self) -> None:
        """Say that the process restarts: the page connects again, to whoever serves by then."""
        if self.handshake_complete:
            self.shutdown()
