"""`make bench-requests`: reading, bounding and translating realtime requests, and passing on chunks of answers.

Processor time of one process, the best of five rounds, each figure beside its target; exits 1 when one is missed.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import orjson

from inference.catalogue import Model, get
from inference.requests import bodies, chat_request, chat_upstream, decision_request, decisions, embedding_request
from inference.requests.profiles import V1
from realtime.chat.chunks import Writer
from realtime.chat.protocol import Head
from realtime.chat.reading import Reader
from realtime.sse import Parser

ROUNDS = 5
CHUNKS = 200
MESSAGES = [
    {"role": "system", "content": "You answer briefly and name your sources. " * 4},
    {"role": "user", "content": "Which rivers cross more than two countries in Europe? " * 8},
]
TOOL = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{index}", "description": "What it does. " * 6, "parameters": TOOL}}
    for index in range(10)
]
CALL = {"id": "call_0123456789", "type": "function", "function": {"name": "tool_1", "arguments": '{"city": "Bonn"}'}}
TURN = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_0123456789", "content": "Sunny. " * 60},
]
QUESTION = {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "invoices", "other": "the rest"}}
SETTINGS = {"max_tokens": 200, "temperature": 0.3, "stream": True, "stream_options": {"include_usage": True}}


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model
    return model


def chat(body: dict[str, Any]) -> Callable[[], object]:
    model, raw = model_named("gemma4-12b"), orjson.dumps({"model": "gemma4-12b", **body})

    def handle() -> object:
        request = chat_request.read(_decoded(raw), model=model, profile=V1)
        return chat_upstream.most_usage(request, model), chat_upstream.write(request, served_name="m", model=model)

    return handle


def embeddings(texts: list[str]) -> Callable[[], object]:
    model, raw = model_named("qwen3-vl-embedding-2b"), orjson.dumps({"model": "qwen3-vl-embedding-2b", "input": texts})

    def handle() -> object:
        request = embedding_request.read(_decoded(raw), model=model, profile=V1)
        return embedding_request.most_usage(request, model), embedding_request.write(request, served_name="m")

    return handle


def decision() -> Callable[[], object]:
    questions = {f"q{index}": QUESTION for index in range(3)}
    model, raw = (
        model_named("laya"),
        orjson.dumps({"model": "laya", "state": "Refund it. " * 40, "questions": questions}),
    )

    def handle() -> object:
        request = decision_request.read(_decoded(raw), model=model, profile=V1)
        decision_request.surely_fits(request, model)
        return decision_request.most_usage(request, model), decisions.write(request, served_name="m")

    return handle


def stream() -> Callable[[], object]:
    asked = chat_request.read({"messages": MESSAGES, **SETTINGS}, model=model_named("gemma4-12b"), profile=V1)
    usage = {"prompt_tokens": 60, "total_tokens": 61, "completion_tokens": 1}
    choice = {"index": 0, "delta": {"content": " river"}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1700000000, "model": "m"}
    frame = b"data: " + orjson.dumps({**head, "choices": [choice], "usage": usage}) + b"\n\n"

    def handle() -> object:
        parser, reader = Parser(), Reader(asked)
        writer = Writer(Head("chatcmpl-0123456789", 1700000000, "gemma4-12b"), usage=True)
        sent = 0
        for _ in range(CHUNKS):
            for data in parser.feed(frame):
                delta = reader.read(data)
                assert delta
                sent += len(writer.write(delta))
        return sent

    return handle


def _decoded(raw: bytes) -> dict[str, Any]:
    body = bodies.decode(raw, profile=V1)
    bodies.model_id(body, profile=V1)
    return body


def microseconds(handle: Callable[[], object], times: int) -> float:
    """Processor time of one call, the best of the rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began_at = time.process_time()
        for _ in range(times):
            handle()
        best = min(best, (time.process_time() - began_at) / times * 1e6)
    return best


def main() -> int:
    """Run; the exit code."""
    agent = {"messages": [*MESSAGES, *TURN * 9], "tools": TOOLS, "parallel_tool_calls": False}
    cases = [
        ("chat, 2 messages of 600 bytes", chat({"messages": MESSAGES, **SETTINGS}), 2000, 1, 50),
        ("chat, 20 messages and 10 tools, 9 KB", chat(agent), 500, 1, 250),
        ("embeddings, one text", embeddings(["a search query"]), 2000, 1, 50),
        ("embeddings, 128 texts of 500 bytes", embeddings(["words " * 80] * 128), 200, 1, 500),
        ("decision, 3 questions", decision(), 2000, 1, 100),
        ("chunk of a streamed answer", stream(), 50, CHUNKS, 10),
    ]
    missed = False
    for name, handle, times, parts, target in cases:
        found = microseconds(handle, times) / parts
        missed |= found > target
        print(f"{name:40s} {found:7.1f} µs (target {target}) {'MISSED' if found > target else 'ok'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
