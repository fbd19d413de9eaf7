"""Asks the child about a customer's file: one child per question, so none waits for another and memory is given back.

The parent believes it nothing: a frame has a bounded size, and whatever ends the child but the machine's own want of
memory is the file's fault.
"""

import math
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from anex.core.process import die_with_parent
from jobs.models import Input
from jobs.run.claims import Interrupted
from jobs.run.parquet.parent import Lost, Pipes
from jobs.run.parquet.pipes import DATA, HEAD, MORE, PIECE_BYTES
from jobs.run.problems import Problem
from jobs.run.scope import MAX_ROWS
from jobs.services.inputs import MAX_INPUT_BYTES
from jobs.storage.interface import Store

Write = Callable[[bytes], object]
GoOn = Callable[[], bool]

# Compressed, a file of the largest size may hold more than its size in text.
MAX_CONVERTED_BYTES = 4 * MAX_INPUT_BYTES
PROCESSOR_S, BYTES_PER_PROCESSOR_S = 60, 2 << 20
_ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "jobs.run.parquet.child"]
_ANSWER_BYTES = 1 << 20
COSTLY = Problem(
    "file_too_costly",
    0,
    "The file cannot be read as parquet: it is damaged, or takes more time or memory than allowed.",
)


class Unreadable(Exception):
    """The file cannot be taken; `problems` says why."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].code)
        self.problems = problems


@contextmanager
def downloaded(store: Store, source: Input, *, go_on: GoOn) -> Iterator[IO[bytes]]:
    """The customer's file on the local disk, while the block lasts.

    Raises ObjectMissing, ObjectChanged, StoreUnavailable, and Interrupted soon after `go_on` says no.
    """
    with tempfile.TemporaryFile() as file:
        for block in store.stream(source.key, etag=source.etag):
            if not go_on():
                raise Interrupted
            file.write(block)
        file.flush()
        yield file


def convert(file: IO[bytes], *, task: str, url: str, size: int, write: Write, go_on: GoOn) -> None:
    """Write the rows of a file of `size` bytes as lines of JSON for a task's `url`. Raises as `_ask`."""
    limits = {
        "max_rows": MAX_ROWS,
        "max_bytes": MAX_CONVERTED_BYTES,
        "processor_s": PROCESSOR_S + math.ceil(size / BYTES_PER_PROCESSOR_S),
    }
    _ask(file, {"asked": "convert", "task": task, "url": url} | limits, write=write, go_on=go_on)


def join(file: IO[bytes], rows: Iterable[tuple[int, bytes]], *, task: str | None, write: Write, go_on: GoOn) -> int:
    """Write a parquet file of some rows, counted from 0 and in order, of a file that was converted; answers how many.

    With a `task`, each row's result line (with its line end) becomes columns beside the row's own. Raises as `_ask`.
    """
    return _ask(file, {"asked": "join", "task": task}, write=write, go_on=go_on, rows=rows)


def _ask(
    file: IO[bytes],
    question: dict[str, Any],
    *,
    write: Write,
    go_on: GoOn,
    rows: Iterable[tuple[int, bytes]] = (),
) -> int:
    """Pass what the child makes of the file to `write`, and the `rows` it asks for to the child; how many rows it made.

    Raises Unreadable, Lost, Interrupted soon after `go_on` says no, and whatever `write` and `rows` raise.
    """
    child = subprocess.Popen(
        COMMAND,
        bufsize=0,
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[file.fileno()],
        start_new_session=True,
        preexec_fn=die_with_parent(signal.SIGKILL),
    )
    try:
        return _talk(Pipes(child, go_on), question | {"file": file.fileno()}, write, go_on, _blocks(rows))
    except (EOFError, BrokenPipeError):
        died_of = -child.wait()
        if died_of <= 0 or died_of == signal.SIGKILL:
            raise Lost(f"the reader of parquet files ended with {-died_of}") from None
        raise Unreadable([COSTLY]) from None
    finally:
        _end(child)


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe:
            pipe.close()


def _talk(pipes: Pipes, question: dict[str, Any], write: Write, go_on: GoOn, blocks: Iterator[bytes]) -> int:
    pipes.send(orjson.dumps(question))
    while True:
        kind, size = HEAD.unpack(pipes.receive(HEAD.size))
        if not go_on():
            raise Interrupted
        if size > max(PIECE_BYTES, _ANSWER_BYTES):
            raise Unreadable([COSTLY])
        body = pipes.receive(size)
        if kind == DATA:
            write(body)
        elif kind == MORE:
            pipes.send(next(blocks, b""))
        else:
            return _rows(body)


def _rows(answer: bytes) -> int:
    given = orjson.loads(answer)
    if given["problems"]:
        raise Unreadable([Problem(*problem) for problem in given["problems"]])
    return int(given["rows"])


def _blocks(rows: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """Rows and their lines, which end in a line end, a few at a time."""
    block = bytearray()
    for row, line in rows:
        block += b"%d\t%b" % (row, line)
        if len(block) >= PIECE_BYTES:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
