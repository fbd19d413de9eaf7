"""What is sent is understood by a server, and what it streams is understood here, however the bytes arrive."""

import http.client
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson
import pytest

from inference.catalogue import get
from inference.requests import chat_request, chat_upstream
from inference.requests.chat_request import ChatRequest
from inference.requests.profiles import V1
from realtime.sse import DONE, Parser
from tests.inference.scripted_server import ScriptedServer, scripted_server
from tests.realtime.chat.streams import NAMED, TOOLS, both


@pytest.fixture(scope="module")
def engine() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


def ask(engine: ScriptedServer, *, piece: int = 7, **body: Any) -> tuple[dict[str, Any], ChatRequest]:
    """The choice of an answer whose bytes are read `piece` at a time."""
    model = get("gemma4-12b")
    assert model
    asked = chat_request.read({"messages": [{"role": "user", "content": "hi"}], **body}, model=model, profile=V1)
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=20)
    connection.request("POST", "/v1/chat/completions", chat_upstream.write(asked, served_name="m", model=model))
    response, parser, events = connection.getresponse(), Parser(), []
    assert response.status == 200
    while received := response.read(piece):
        events += parser.feed(received)
    connection.close()
    assert events[-1] == DONE
    return both(asked, *events[:-1]), asked


def test_text_is_the_same_however_it_is_cut(engine: ScriptedServer) -> None:
    text = ask(engine, max_tokens=20)[0]["message"]["content"]
    assert text
    assert ask(engine, piece=1000, max_tokens=20)[0]["message"]["content"] == text


@pytest.mark.parametrize(
    ("choice", "reason"), [("auto", None), ("required", "tool_calls"), (NAMED, "stop"), ("none", "stop")]
)
def test_calls_are_whole(engine: ScriptedServer, choice: Any, reason: str | None) -> None:
    answer, _ = ask(engine, tools=TOOLS, tool_choice=choice, max_tokens=2000)
    called = [call["function"] for call in answer["message"].get("tool_calls", [])]
    assert reason in (None, answer["finish_reason"])
    assert bool(called) is (choice not in ("auto", "none")) or choice == "auto"
    assert all(isinstance(orjson.loads(each["arguments"]), dict) for each in called)


def test_a_forced_call_past_its_cap_is_text(engine: ScriptedServer) -> None:
    answer, _ = ask(engine, tools=TOOLS, tool_choice="required", max_tokens=2)
    assert answer["finish_reason"] == "length"
    assert answer["message"]["content"].startswith('[{"name": ')


def test_log_probabilities_join_to_the_text(engine: ScriptedServer) -> None:
    answer, asked = ask(engine, logprobs=True, max_tokens=12)
    assert asked.top_logprobs == 0
    assert "".join(entry["token"] for entry in answer["logprobs"]["content"]) == answer["message"]["content"]


def test_a_format_is_kept(engine: ScriptedServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer, asked = ask(engine, response_format=form, max_tokens=200)
    chat_request.check_schemas(asked, V1)
    assert isinstance(msgspec.json.decode(answer["message"]["content"])["a"], int)
