"""Customers' JSON schemas, compiled and applied in a child process that can be lost.

A schema of a few lines can take hours: definitions that refer to each other twice, patterns with large repetitions.
The child ends itself when a question takes too long; the next question starts another one.
"""

import atexit
import subprocess
import sys
import threading
from pathlib import Path

from inference.requests.schema_child import QUESTION, REPLY

TOO_COSTLY = "it takes too long to check"
_ROOT = Path(__file__).resolve().parents[2]


class _Child:
    """One child at a time, started when it is first needed; it ends with this process, whose pipe it reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, schema: bytes, answer: bytes) -> str | None:
        """The child's sentence, empty when nothing is wrong; None when the question ended the child."""
        with self._lock:
            try:
                return self._exchange(self._running(), schema, answer)
            except (BrokenPipeError, EOFError):
                self.close()
                return None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            command = [sys.executable, "-m", "inference.requests.schema_child"]
            self._process = subprocess.Popen(
                command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], schema: bytes, answer: bytes) -> str:
        assert process.stdin
        assert process.stdout
        process.stdin.write(QUESTION.pack(len(schema), len(answer)) + schema + answer)
        process.stdin.flush()
        head = process.stdout.read(REPLY.size)
        if len(head) < REPLY.size:
            raise EOFError
        (length,) = REPLY.unpack(head)
        return process.stdout.read(length).decode()

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


_child = _Child()
atexit.register(_child.close)


def schema_fault(schema: bytes) -> str | None:
    """Why a schema (as JSON) cannot be used, or None. References to anything outside it do not compile."""
    fault = _child.ask(schema, b"")
    return TOO_COSTLY if fault is None else fault or None


def answer_fault(schema: bytes, answer: bytes) -> str | None:
    """What is wrong with an answer (JSON) that was to match a schema which compiles; None when it does."""
    fault = _child.ask(schema, answer or b" ")
    return f"The answer could not be checked: {TOO_COSTLY}." if fault is None else fault or None
