"""A chunk that is read by its known fields means what it means to the reader of whole objects."""

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inference.backends.faults import ServerFailed
from realtime.chat import reading
from realtime.chat.plain import read_plain
from realtime.chat.reading import Reader
from tests.realtime.chat.streams import TOOLS, chunk, request


def dumped(value: Any) -> bytes:
    """JSON, of integers of any size too."""
    return json.dumps(value).encode()


odd = st.sampled_from([None, 0, 7, 1.5, True, "", "x", [], {}, ["x"], {"a": 1}])
text = st.one_of(st.text(max_size=4), odd)
deltas = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "content": text,
            "reasoning": text,
            "reasoning_content": text,
            "role": st.one_of(st.just("assistant"), odd),
            "tool_calls": st.one_of(odd, st.just([{"index": 0, "id": "call_123456", "function": {"name": "f"}}])),
        },
    ),
    odd,
)
usages = st.one_of(
    odd,
    st.fixed_dictionaries(
        {"prompt_tokens": st.integers(-2, 10**20), "completion_tokens": st.one_of(st.integers(-2, 99), odd)}
    ),
)
choices = st.fixed_dictionaries(
    {}, optional={"delta": deltas, "finish_reason": st.one_of(st.just("stop"), odd), "logprobs": odd, "index": odd}
)
chunks = st.fixed_dictionaries(
    {},
    optional={"choices": st.one_of(st.lists(choices, max_size=2), odd), "usage": usages, "error": odd, "id": odd},
).map(dumped)
mangled = st.tuples(chunks, st.integers(0, 60), st.binary(max_size=2)).map(
    lambda three: three[0][: three[1]] + three[2] + three[0][three[1] :]
)


def story(events: list[bytes], *, plain: bool, **body: Any) -> list[Any]:
    """All that can be seen of a reader while events come in."""
    reader, told = Reader(request(**body)), []
    with mock.patch.object(reading, "read_plain", read_plain if plain else lambda _: None):
        for event in events:
            try:
                told.append(reader.read(event))
            except ServerFailed as failed:
                told.append(str(failed))
        return [*told, reader.pieces, reader.finish_reason, reader.usage(), reader.reasoning_tokens()]


@given(st.lists(st.one_of(chunks, mangled), max_size=4), st.sampled_from([{}, {"reasoning": {"exclude": True}}]))
@example([b'{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":NaN}}'], {})
@example([b'{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1e999,"completion_tokens":1}}'], {})
@example([b'{"choices":[{"delta":{"content":"a","content":"b"}}],"usage":{},"usage":null}'], {})
@example([b'{"choices":[{"delta":{"content":"a"}}],"x":' + b"[" * 2000 + b"]" * 2000 + b"}"], {})
def test_both_readers_tell_the_same(events: list[bytes], body: dict[str, Any]) -> None:
    assert story(events, plain=True, **body) == story(events, plain=False, **body)


@pytest.mark.parametrize(
    ("event", "is_plain"),
    [
        (chunk({"content": "a"}), True),
        (chunk({"role": "assistant", "content": ""}), True),
        (chunk({"reasoning": "hm"}, usage={"prompt_tokens": 1}), True),
        (chunk({"content": "a"}, finish="stop"), False),
        (chunk({"tool_calls": [{"index": 0}]}), False),
        (chunk({"content": "a"}, error={"message": "no"}), False),
        (b"[DONE]", False),
        (b'{"choices":[]}', False),
        (b'{"choices":[{"delta":{"content":"\xff"}}]}', False),
    ],
)
def test_it_takes_pieces_of_text_alone(event: bytes, is_plain: bool) -> None:
    assert (read_plain(event) is not None) is is_plain


def test_text_beside_calls_counts_alike() -> None:
    called = chunk({"tool_calls": [{"index": 0, "id": "call_123456", "function": {"name": "f", "arguments": "{}"}}]})
    events = [chunk({"content": "a"}), called, chunk({"content": "b"}), chunk(finish="tool_calls")]
    assert story(events, plain=True, tools=TOOLS) == story(events, plain=False, tools=TOOLS)
