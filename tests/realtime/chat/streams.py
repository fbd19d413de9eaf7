"""A model server's chunks, and what both kinds of clients get for them."""

from typing import Any

import orjson
from hypothesis import strategies as st

from anex.core.usage import Usage
from inference.catalogue import get
from inference.requests import chat_request
from inference.requests.profiles import V1
from realtime.chat.chunks import Writer
from realtime.chat.protocol import Head
from realtime.chat.reading import Reader
from realtime.chat.usage import usage_object
from realtime.chat.whole import Whole
from realtime.sse import Parser

HEAD = Head("chatcmpl-1", 1, "gemma4-12b")
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
NAMED = {"type": "function", "function": {"name": "f"}}

# What a server may stream as a choice, odd and damaged ones too.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
PIECE = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 1) | JSON,
        "id": st.text(max_size=12) | JSON,
        "function": st.fixed_dictionaries(
            {}, optional={"name": st.text(max_size=3) | JSON, "arguments": st.text(max_size=3) | JSON}
        )
        | JSON,
    },
)
GAIN = st.fixed_dictionaries(
    {},
    optional={
        "role": JSON,
        "content": st.text(max_size=3) | JSON,
        "reasoning": st.text(max_size=3) | JSON,
        "tool_calls": st.lists(PIECE, max_size=2) | JSON,
    },
)
CHOICE = st.fixed_dictionaries(
    {"delta": GAIN | JSON},
    optional={
        "finish_reason": st.sampled_from(["stop", "length", ""]) | JSON,
        "stop_reason": JSON,
        "logprobs": st.fixed_dictionaries(
            {"content": st.lists(st.fixed_dictionaries({"token": st.text(max_size=3) | JSON}), max_size=2) | JSON}
        )
        | JSON,
    },
)


def request(**body: Any) -> chat_request.ChatRequest:
    model = get("gemma4-12b")
    assert model
    return chat_request.read({"messages": [{"role": "user", "content": "hi"}], **body}, model=model, profile=V1)


def chunk(
    delta: dict[str, Any] | None = None, *, finish: str | None = None, tokens: list[str] | None = None, **more: Any
) -> bytes:
    choice: dict[str, Any] = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    if tokens is not None:
        choice["logprobs"] = {
            "content": [{"token": token, "logprob": -0.1, "bytes": [], "top_logprobs": []} for token in tokens]
        }
    if "stop_reason" in more:
        choice["stop_reason"] = more.pop("stop_reason")
    return orjson.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice], **more})


def call(index: int, arguments: str | None = None, **head: Any) -> dict[str, Any]:
    """A delta of one tool call; `name` and `id` as the server sends them."""
    function = {"name": head.pop("name")} if "name" in head else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{"index": index, "type": "function", **head, "function": function}]}


def whole(asked: chat_request.ChatRequest, *events: bytes) -> dict[str, Any]:
    """The choice of an answer that is not streamed."""
    reader, gathered = Reader(asked), Whole(HEAD, logprobs=asked.top_logprobs is not None)
    for event in events:
        if delta := reader.read(event):
            gathered.add(delta)
    usage = usage_object(Usage(input_tokens=1, output_tokens=1))
    body = gathered.body(usage)
    choice: dict[str, Any] = orjson.loads(orjson.dumps(body))["choices"][0]
    return choice


def streamed(asked: chat_request.ChatRequest, *events: bytes) -> list[dict[str, Any]]:
    """The chunks of a streamed answer."""
    reader, writer, parser = Reader(asked), Writer(HEAD, usage=asked.includes_usage), Parser()
    out = []
    for event in events:
        if delta := reader.read(event):
            out += [orjson.loads(data) for data in parser.feed(writer.write(delta))]
    return out


def joined(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """A streamed answer put together as SDKs do it, checked for what they rely on."""
    message: dict[str, Any] = {"role": None, "content": "", "reasoning_content": "", "tool_calls": []}
    finished, logprobs = [], []
    for place, one in enumerate(chunks):
        choice = one["choices"][0]
        delta = choice["delta"]
        assert ("role" in delta) is (place == 0)
        message["role"] = message["role"] or delta["role"]
        message["content"] += delta.get("content") or ""
        message["reasoning_content"] += delta.get("reasoning_content") or ""
        for piece in delta.get("tool_calls", []):
            if piece["index"] == len(message["tool_calls"]):
                assert piece["function"]["name"]
                assert len(piece["id"]) >= 9
                message["tool_calls"].append(
                    {"id": piece["id"], "type": piece["type"], "function": dict(piece["function"])}
                )
            else:
                assert piece.keys() == {"index", "function"}
                message["tool_calls"][piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
        finished += [choice["finish_reason"]] if choice["finish_reason"] else []
        logprobs += (choice["logprobs"] or {}).get("content", [])
    assert len(finished) <= 1
    return {"message": message, "finish_reason": next(iter(finished), None), "logprobs": logprobs}


def both(asked: chat_request.ChatRequest, *events: bytes) -> dict[str, Any]:
    """The choice of an answer, the same whether it is streamed or not (but for ids that are made up)."""
    one, other = whole(asked, *events), joined(streamed(asked, *events))
    message = one["message"]
    assert (message["content"] or "") == other["message"]["content"]
    assert message.get("reasoning_content", "") == other["message"]["reasoning_content"]
    calls = [each["function"] for each in message.get("tool_calls", [])]
    assert calls == [each["function"] for each in other["message"]["tool_calls"]]
    assert one["finish_reason"] == other["finish_reason"]
    assert ((one["logprobs"] or {}).get("content") or []) == other["logprobs"]
    return one
