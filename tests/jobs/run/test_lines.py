"""Splitting a file into lines: the same for any way the file arrives in blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.run import lines
from jobs.run.lines import read_lines

PIECES = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"\t", b"a", b"{}", b"\xff", b"long" * 5]), max_size=40)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    blocks, position = [], 0
    for size in sizes:
        blocks.append(data[position : position + size])
        position += size
    return [*blocks, data[position:]]


@given(PIECES.map(b"".join), st.lists(st.integers(0, 7), max_size=30))
def test_blocks_make_no_difference(data: bytes, sizes: list[int]) -> None:
    found = list(read_lines(cut(data, sizes)))
    wanted = [
        (number, text.removesuffix(b"\r"))
        for number, text in enumerate(data.split(b"\n"), 1)
        if text.removesuffix(b"\r").strip()
    ]
    assert [(line.number, line.text) for line in found] == wanted


@given(PIECES.map(b"".join), st.integers(0, 1000))
def test_a_line_is_found_again_by_its_byte_range(data: bytes, offset: int) -> None:
    for line in read_lines([data], offset=offset):
        again = list(read_lines([data[line.start - offset : line.end - offset]]))
        assert [other.text for other in again] == [line.text]


def test_an_overlong_line_is_named_without_being_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10)
    data = b"short\n" + b"x" * 25 + b"\nnext\n" + b"y" * 11
    for size in (1, 3, 7, 100):
        found = list(read_lines([data[place : place + size] for place in range(0, len(data), size)]))
        assert [(line.number, line.start, line.end, line.text) for line in found] == [
            (1, 0, 6, b"short"),
            (2, 6, 32, None),
            (3, 32, 37, b"next"),
            (4, 37, 48, None),
        ]
