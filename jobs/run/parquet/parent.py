"""The parent's ends of the pipes to a child that may stop anywhere: nothing here waits for it for ever."""

import os
import select
import subprocess
from collections.abc import Callable

from anex.core import clock
from jobs.run.claims import Interrupted
from jobs.run.parquet.pipes import BLOCK

# Ten times what the child gives itself, for a busy machine.
STEP_SECONDS = 300.0
LOOK_SECONDS = 0.5


class Lost(Exception):
    """The child ended, or hangs, for a reason that is not the file's."""


class Pipes:
    """Sends and receives; each takes at most STEP_SECONDS, or raises Lost, and Interrupted soon after `go_on` says no.

    Raises EOFError or BrokenPipeError where the child is gone.
    """

    def __init__(self, child: "subprocess.Popen[bytes]", go_on: Callable[[], bool]) -> None:
        assert child.stdin
        assert child.stdout
        self._to_child, self._from_child = child.stdin.fileno(), child.stdout.fileno()
        os.set_blocking(self._to_child, False)
        self._go_on = go_on

    def send(self, block: bytes) -> None:
        """Send a block with its length."""
        ends, left = clock.monotonic() + STEP_SECONDS, memoryview(BLOCK.pack(len(block)) + block)
        while left:
            self._wait(self._to_child, select.POLLOUT, ends)
            left = left[os.write(self._to_child, left) :]

    def receive(self, size: int) -> bytes:
        """The next `size` bytes."""
        ends, data = clock.monotonic() + STEP_SECONDS, bytearray()
        while len(data) < size:
            self._wait(self._from_child, select.POLLIN, ends)
            piece = os.read(self._from_child, size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _wait(self, pipe: int, event: int, ends: float) -> None:
        ready = select.poll()
        ready.register(pipe, event)
        while clock.monotonic() < ends:
            if ready.poll(LOOK_SECONDS * 1000):
                return
            if not self._go_on():
                raise Interrupted
        raise Lost("the reader of parquet files hangs")
