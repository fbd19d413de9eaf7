"""Has a file checked by a child while it arrives; blocks, so it is called from threads."""

import fcntl
import os
import select
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import orjson

from inference.requests.batch_lines import Target
from jobs.run.arrivals.lines import BadLine, Limits

_ROOT: Final = Path(__file__).resolve().parents[3]
_COMMAND: Final = [sys.executable, "-m", "jobs.run.arrivals.child"]
_PIPE_BYTES: Final = 1 << 20
# More than the last lines of the largest file and its ids take.
_ANSWER_S: Final = 300.0
_ANSWER_BYTES: Final = 64 * 1024


class CheckerLost(Exception):
    """The child ended without a word, or takes too long."""


class Checker:
    """A context manager; the child starts with the first piece and ends with the block.

    `target` and the line that named it are set once they are known.
    """

    def __init__(self, limits: Limits) -> None:
        self.target: Target | None = None
        self.target_line = 0
        self._limits = limits
        self._child: subprocess.Popen[bytes] | None = None
        self._heard = b""
        self._rows: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child:
            self._child.kill()
            self._child.wait()
            self._to_child.close()
            self._from_child.close()

    def feed(self, data: bytes) -> None:
        """Hand on the next piece. Raises BadLine for what was found in the pieces before, CheckerLost."""
        self._start()
        left = memoryview(data)
        while left:
            if self._wait(select.POLLOUT):
                self._listen()
                continue
            try:
                left = left[os.write(self._to_child.fileno(), left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._listen()

    def finish(self) -> int:
        """The file has ended: how many rows it has. Raises BadLine, CheckerLost."""
        self._start()
        self._to_child.close()
        while self._rows is None:
            self._wait(0)
            self._listen()
        return self._rows

    def _start(self) -> None:
        """A form without a file is not worth a process."""
        if self._child:
            return
        limits = self._limits
        self._child = child = subprocess.Popen(
            [*_COMMAND, str(limits.line_bytes), str(limits.rows), str(lock := _lock())],
            bufsize=0,
            pass_fds=[lock],
            cwd=_ROOT,
            # Which ids share a hash is not to be known outside.
            env={**os.environ, "PYTHONHASHSEED": "random", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert child.stdin
        assert child.stdout
        self._to_child, self._from_child = child.stdin, child.stdout
        fcntl.fcntl(self._to_child, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(self._to_child.fileno(), False)

    def _ended(self) -> Exception:
        """What it means that the child ended without a word: by more memory than it may have, or by another's hand."""
        assert self._child
        if self._child.wait() in (0, -signal.SIGKILL, -signal.SIGTERM):
            return CheckerLost()
        return BadLine(0, "The file cannot be read: a line of it holds too many values")

    def _wait(self, taking: int) -> bool:
        """Until the child takes more, where that is asked, or says something; answers whether it does."""
        ready = select.poll()
        ready.register(self._from_child, select.POLLIN)
        if taking:
            ready.register(self._to_child, taking)
        found = ready.poll(_ANSWER_S * 1000)
        if not found:
            raise CheckerLost
        return any(descriptor == self._from_child.fileno() for descriptor, _ in found)

    def _listen(self) -> None:
        heard = os.read(self._from_child.fileno(), _ANSWER_BYTES)
        if not heard:
            raise self._ended()
        *whole, self._heard = (self._heard + heard).split(b"\n")
        for message in map(orjson.loads, whole):
            if "rows" in message:
                self._rows = message["rows"]
            elif "model" in message:
                self.target_line = message.pop("at")
                self.target = Target(**message)
            else:
                raise BadLine(**message)


@cache
def _lock() -> int:
    """The descriptor of a file whose lock the children of this process share."""
    return os.memfd_create("anex-arrivals")
