"""Splits an input into lines: what lies in a chunk, and what belongs to a span of the whole file."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from jobs.run.scope import Scope, Span
from jobs.storage.interface import BLOCK_BYTES

# A line that is longer is not gathered while it arrives: the store keeps it, and it is read once its end is known.
GATHERED_BYTES = 32 * 1024 * 1024
FIRST_LOOK_BYTES = 64 * 1024
# Lines are split a piece at a time, which stays in the processor's cache until its rows are counted.
PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its number (from 1), its byte range [start, end) and its text without the line end."""

    number: int
    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring whole lines of `size` bytes at `start`, without the last line end; `text` is None for one long line
    that is yet to be read. `end` is where the next line starts."""

    start: int
    size: int
    end: int
    text: bytes | None


def read_lines(blob: bytes) -> Iterator[Line]:
    """The lines of a part of a file that begins with a line; blank ones are counted and left out."""
    start = 0
    for number, text in enumerate(blob.split(b"\n"), 1):
        end = min(start + len(text) + 1, len(blob))
        if text and not text.isspace():
            yield Line(number, start, end, text.removesuffix(b"\r"))
        start = end


def custom_id_of(text: bytes) -> str:
    """What names a row that cannot be parsed any more; it could when its job was checked."""
    try:
        return str(orjson.loads(text)["custom_id"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ""


def read_span(scope: Scope, span: Span) -> Iterator[Block]:
    """The lines of a span, in order. Raises ObjectChanged, ObjectMissing, StoreUnavailable.

    Memory is bounded by a span and a block.
    """
    store, rest, start = scope.store, b"", span.start
    skipping = span.start > 0
    for block in store.stream(scope.key, etag=scope.etag, start=span.start, end=span.end):
        first = block.find(b"\n") + 1 if skipping else 0
        if skipping:
            start += first or len(block)
            skipping = not first
        rest += b"" if skipping else block[first:]
        begun = 0
        for begin, end in _pieces(rest):
            yield Block(start + begin, end - begin - 1, start + end, rest[begin : end - 1])
            begun = end
        start, rest = start + begun, rest[begun:]
    if not skipping and start < scope.size_bytes:
        yield _last_line(scope, start, rest, span.end)


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """Whole lines of a piece of file, at most about PIECE_BYTES at a time."""
    begin = 0
    while end := data.rfind(b"\n", begin, begin + PIECE_BYTES) + 1 or data.find(b"\n", begin) + 1:
        yield begin, end
        begin = end


def _last_line(scope: Scope, start: int, begun: bytes, position: int) -> Block:
    """The line that begins in a span and goes on behind it, at `position`."""
    pieces, size = [begun], len(begun)
    for piece in _stream_on(scope, position):
        newline = piece.find(b"\n")
        size += len(piece) if newline < 0 else newline
        if size > scope.max_line_bytes:
            return Block(start, size, start + size, None)
        if size <= GATHERED_BYTES:
            pieces.append(piece if newline < 0 else piece[:newline])
        else:
            pieces.clear()
        if newline >= 0:
            break
    end = min(start + size + 1, scope.size_bytes)
    return Block(start, size, end, None if size > GATHERED_BYTES else b"".join(pieces))


def _stream_on(scope: Scope, position: int) -> Iterator[bytes]:
    """From a position to the end of the file; little at first, for most lines end soon."""
    size = FIRST_LOOK_BYTES
    while position < scope.size_bytes:
        piece = scope.store.read_range(scope.key, position, position + size, etag=scope.etag)
        yield piece
        position += size
        size = min(size * 4, BLOCK_BYTES)
