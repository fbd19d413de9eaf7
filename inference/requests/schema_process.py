"""Customers' JSON schemas, compiled and applied in a child process that can be lost.

A schema of a few lines can take hours: definitions that refer to each other twice, patterns with large repetitions.
The child ends itself when a question takes too long; the next question starts another one.
"""

from typing import IO

from anex.core.helper_process import HelperProcess, read_exactly
from inference.requests.schema_child import QUESTION, REPLY

TOO_COSTLY = "it takes too long to check"
# Of the clock; a question has half a second of a processor.
_LIMIT_S = 20.0
_child = HelperProcess("inference.requests.schema_child", limit_s=_LIMIT_S)


def schema_fault(schema: bytes) -> str | None:
    """Why a schema (as JSON) cannot be used, or None. References to anything outside it do not compile."""
    fault = _ask(schema, b"")
    return TOO_COSTLY if fault is None else fault or None


def answer_fault(schema: bytes, answer: bytes) -> str | None:
    """What is wrong with an answer (JSON) that was to match a schema which compiles; None when it does."""
    fault = _ask(schema, answer or b" ")
    return f"The answer could not be checked: {TOO_COSTLY}." if fault is None else fault or None


def _ask(schema: bytes, answer: bytes) -> str | None:
    """The child's sentence, empty when nothing is wrong; None when the question ended the child."""

    def talk(to_child: IO[bytes], from_child: IO[bytes]) -> str:
        to_child.write(QUESTION.pack(len(schema), len(answer)) + schema + answer)
        to_child.flush()
        (length,) = REPLY.unpack(read_exactly(from_child, REPLY.size))
        return read_exactly(from_child, length).decode()

    try:
        return _child.ask(talk)
    except EOFError:
        return None
