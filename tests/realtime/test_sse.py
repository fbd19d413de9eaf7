"""Server-sent events are read whole, however their bytes are cut and whatever their line ends."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime import sse
from realtime.sse import Parser, TooLong, event


def fed(*pieces: bytes) -> list[bytes]:
    parser = Parser()
    return [data for piece in pieces for data in parser.feed(piece)]


@pytest.mark.parametrize(
    ("pieces", "events"),
    [
        ([b"data: a\n\n"], [b"a"]),
        ([b"data:a\n\n"], [b"a"]),
        ([b"data:  a\n\n"], [b" a"]),
        ([b"data: a\r\n\r\ndata: b\r\n\r\n"], [b"a", b"b"]),
        ([b"data: a\r\rdata: b\r\r", b"\n"], [b"a", b"b"]),
        ([b"data: a\r", b"\n\r", b"\n"], [b"a"]),
        ([b": keep-alive\n\ndata: a\n\n: x\n\n"], [b"a"]),
        ([b"event: x\nid: 1\ndata: a\nretry: 5\n\n"], [b"a"]),
        ([b"data: a\ndata: b\n\n"], [b"a\nb"]),
        ([b"data: \xc3", b"\xa9\n", b"\n"], ["é".encode()]),
        ([b"data: a\n"], []),
        ([b"data\n\n\n\n"], []),
    ],
)
def test_events_are_what_the_standard_says(pieces: list[bytes], events: list[bytes]) -> None:
    assert fed(*pieces) == events


@given(
    data=st.lists(
        st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1, max_size=12), max_size=8
    ),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    space=st.booleans(),
    comment=st.sampled_from([b": x", b""]),
    cuts=st.lists(st.integers(0, 200), max_size=12),
)
def test_no_cut_changes_what_is_read(data: list[str], end: bytes, space: bool, comment: bytes, cuts: list[int]) -> None:
    start = b"data: " if space else b"data:"
    whole = (
        b"".join(comment + (end + end if comment else b"") + start + text.encode() + end + end for text in data) + b"\n"
    )
    places = [0, *sorted(cut % len(whole) for cut in cuts), len(whole)]
    pieces = [whole[begin:stop] for begin, stop in pairwise(places)]
    assert fed(*pieces) == [text.removeprefix("" if space else " ").encode() for text in data]


def test_what_is_written_is_read_again() -> None:
    assert fed(event(b"{}") + sse.KEEP_ALIVE + sse.END) == [b"{}", sse.DONE]


def test_an_event_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "_MOST_BYTES", 100)
    with pytest.raises(TooLong):
        fed(*[b"x" * 60] * 2)
    with pytest.raises(TooLong):
        fed(*[b"data: " + b"x" * 60 + b"\n"] * 2, b"y")
