"""A child process that does what may hurt: it is asked over its pipes, and can be lost."""

import atexit
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

_ROOT = Path(__file__).resolve().parents[2]
_TRIES = 2
R = TypeVar("R")


class HelperProcess:
    """One child at a time running `module`, started when it is first asked; it ends with the pipe it reads.

    One question is asked at a time. A child bounds its own processor time; one that has not answered after `limit_s`
    seconds is stopped or stuck, and is killed.
    """

    def __init__(self, module: str, *, limit_s: float) -> None:
        self._module = module
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def ask(self, talk: Callable[[IO[bytes], IO[bytes]], R]) -> R:
        """What `talk` makes of the child's input and output. Whatever it raises also ends the child.

        A child that is killed says nothing about the question, so another one is asked, once. Raises EOFError where the
        question ended the child.
        """
        for _ in range(_TRIES):
            with self._lock:
                process = self._running()
                assert process.stdin
                assert process.stdout
                watch = threading.Timer(self._limit_s, process.kill)
                watch.daemon = True
                watch.start()
                try:
                    return talk(process.stdin, process.stdout)
                except (BrokenPipeError, EOFError):
                    if self.close() != -signal.SIGKILL:
                        raise EOFError from None
                except BaseException:
                    self.close()
                    raise
                finally:
                    watch.cancel()
        raise EOFError

    def close(self) -> int:
        """End the child, if there is one; answers how it ended."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with suppress(BrokenPipeError):  # what was not written yet
                    pipe.close()
        return process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self._process


def read_exactly(pipe: IO[bytes], size: int) -> bytes:
    """`size` bytes of a child's output; EOFError where it ended before."""
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
