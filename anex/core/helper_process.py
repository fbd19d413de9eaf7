"""A child process that does what may hurt: it is asked over its pipes, and can be lost."""

import atexit
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).resolve().parents[2]


class HelperProcess:
    """One child at a time running `module`, started when it is first asked; it ends with the pipe it reads.

    One question is asked at a time.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    @contextmanager
    def asked(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """The child's input and output for one question. Whatever is raised inside also ends the child."""
        with self._lock:
            process = self._running()
            assert process.stdin
            assert process.stdout
            try:
                yield process.stdin, process.stdout
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the child, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue

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
