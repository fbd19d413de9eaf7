"""Splitting a file into lines: the same for any way it is cut into spans and arrives in blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.run import lines
from jobs.run.lines import read_lines, read_span
from jobs.run.scope import spans_of
from tests.jobs.run.memory_store import scope_of

PIECES = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"\t", b"a", b"{}", b"\xff", b"long" * 5]), max_size=40)


@given(PIECES.map(b"".join), st.integers(1, 60), st.integers(1, 9), st.integers(1, 5))
def test_spans_and_blocks_make_no_difference(data: bytes, span: int, block: int, look: int) -> None:
    scope = scope_of(data, block_bytes=block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "FIRST_LOOK_BYTES", look)
        found = [part for piece in spans_of(len(data), span) for part in read_span(scope, piece)]
    texts = [text for part in found for text in (part.text or b"").split(b"\n")]
    assert texts == (data.removesuffix(b"\n").split(b"\n") if data else [])
    assert [part.start for part in found] == ([0] if data else []) + [part.end for part in found][:-1]
    assert all(part.size == len(part.text or b"") for part in found)
    assert not data or found[-1].end == len(data)


@given(PIECES.map(b"".join))
def test_a_line_is_found_again_by_its_byte_range(data: bytes) -> None:
    wanted = [
        (number, text.removesuffix(b"\r"))
        for number, text in enumerate(data.split(b"\n"), 1)
        if text.removesuffix(b"\r").strip()
    ]
    assert [(line.number, line.text) for line in read_lines(data)] == wanted
    for line in read_lines(data):
        assert [other.text for other in read_lines(data[line.start : line.end])] == [line.text]


def test_a_long_line_is_left_to_be_read_and_its_length_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "GATHERED_BYTES", 20)
    monkeypatch.setattr(lines, "FIRST_LOOK_BYTES", 4)
    data = b"short\n" + b"x" * 50 + b"\nnext\n" + b"y" * 71 + b"\n" + b"z" * 30
    scope = scope_of(data, max_line_bytes=60)
    found = [part for span in spans_of(len(data), 10) for part in read_span(scope, span)]
    assert [(part.start, part.text) for part in found] == [
        (0, b"short"),
        (6, None),
        (57, b"next"),
        (62, None),
        (134, None),
    ]
    assert [part.size > 60 for part in found] == [False, False, False, True, False]
    assert (found[1].size, found[1].end, found[4].size, found[4].end) == (50, 57, 30, 164)
