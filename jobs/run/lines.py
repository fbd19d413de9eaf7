"""Splits a file of rows into lines, knowing where each one starts; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_LINE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its number (from 1), its byte range [start, end) and its text without the line end.

    `text` is None when the line is longer than MAX_LINE_BYTES.
    """

    number: int
    start: int
    end: int
    text: bytes | None


def read_lines(blocks: Iterable[bytes], *, offset: int = 0) -> Iterator[Line]:
    """Lines of a file given as blocks of bytes; blank lines are counted and left out.

    `offset` is where the first block starts in the file. Memory is bounded by one block and one line.
    """
    number, start, pending, dropped = 0, offset, bytearray(), 0
    for block in blocks:
        position = 0
        while (newline := block.find(b"\n", position)) >= 0:
            number += 1
            if not dropped:
                pending += block[position:newline]
            end = start + len(pending) + dropped + (newline - position if dropped else 0) + 1
            if dropped or len(pending) > MAX_LINE_BYTES:
                yield Line(number, start, end, None)
            elif (text := bytes(pending).removesuffix(b"\r")) and not text.isspace():
                yield Line(number, start, end, text)
            start, position, dropped = end, newline + 1, 0
            pending.clear()
        rest = len(block) - position
        if dropped or len(pending) + rest > MAX_LINE_BYTES:
            dropped += len(pending) + rest
            pending.clear()
        else:
            pending += block[position:]
    if dropped:
        yield Line(number + 1, start, start + dropped, None)
    elif pending and not pending.isspace():
        yield Line(number + 1, start, start + len(pending), bytes(pending).removesuffix(b"\r"))
