"""Tools on vLLM: the four forms of tool_choice, whole and streamed, and calls that are cut off."""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage

from tests.vllm.conftest import Platform, asked

ASK = "What is the weather in Paris?"
NAMED = {"type": "function", "function": {"name": "get_time"}}


def tool(name: str) -> dict[str, Any]:
    city = {"type": "string", "maxLength": 20}
    schema = {"type": "object", "properties": {"city": city}, "required": ["city"], "additionalProperties": False}
    about = f"Tells the {name.removeprefix('get_')} in a city"
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


TOOLS = [tool("get_weather"), tool("get_time")]


def answers(platform: Platform, text: str = ASK, **body: Any) -> list[tuple[ChatCompletionMessage, str]]:
    """Message and finish reason of a request, whole and put together from its stream."""
    body = asked(text, max_tokens=80) | {"tools": TOOLS} | body
    whole = platform.openai.chat.completions.create(**body).choices[0]
    calls: dict[int, dict[str, Any]] = {}
    content, ends = "", []
    for chunk in platform.openai.chat.completions.create(**body, stream=True):
        choice = chunk.choices[0]
        content += choice.delta.content or ""
        ends += [choice.finish_reason] if choice.finish_reason else []
        for piece in choice.delta.tool_calls or ():
            assert piece.function
            if piece.index not in calls:
                assert piece.id
                function = {"name": piece.function.name, "arguments": ""}
                calls[piece.index] = {"id": piece.id, "type": "function", "function": function}
            else:
                assert (piece.id, piece.function.name) == (None, None)
            calls[piece.index]["function"]["arguments"] += piece.function.arguments or ""
    message = {"role": "assistant", "content": content or None, "tool_calls": list(calls.values()) or None}
    assert len(ends) == 1
    return [(whole.message, whole.finish_reason), (ChatCompletionMessage.model_validate(message), ends[0])]


@pytest.mark.parametrize(("choice", "name", "ending"), [("required", None, "tool_calls"), (NAMED, "get_time", "stop")])
def test_forced_call_keeps_to_its_schema(platform: Platform, choice: Any, name: str | None, ending: str) -> None:
    for message, finish_reason in answers(platform, tool_choice=choice):
        assert finish_reason == ending
        assert not message.content
        assert message.tool_calls
        for call in message.tool_calls:
            assert call.type == "function"
            assert len(call.id) >= 9
            assert call.function.name == name or (name is None and call.function.name in ("get_weather", "get_time"))
            assert json.loads(call.function.arguments).keys() == {"city"}


def test_none_keeps_the_model_from_calling_and_reads_earlier_calls(platform: Platform) -> None:
    call = {
        "id": "call_123456789",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"P"}'},
    }
    messages = [
        {"role": "user", "content": ASK},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_123456789", "content": "18 degrees and rain"},
    ]
    for told in (None, messages):
        body = {"messages": told} if told else {}
        for message, finish_reason in answers(platform, tool_choice="none", **body):
            assert message.content
            assert not message.tool_calls
            assert finish_reason in ("stop", "length")
    assert "18" in (answers(platform, tool_choice="auto", messages=messages)[0][0].content or "")


def test_auto_is_the_models_choice(platform: Platform) -> None:
    for message, finish_reason in answers(platform, tool_choice="auto"):
        assert (finish_reason == "tool_calls") is bool(message.tool_calls)
        assert message.content or message.tool_calls


def test_one_call_where_parallel_ones_are_not_wanted(platform: Platform) -> None:
    text = "What is the weather in Paris, in Rome and in Berlin?"
    for message, _ in answers(platform, text, tool_choice="required", parallel_tool_calls=False, max_tokens=200):
        assert message.tool_calls
        assert len(message.tool_calls) == 1


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_forced_call_that_is_cut_off_is_text(platform: Platform, choice: Any) -> None:
    for message, finish_reason in answers(platform, tool_choice=choice, max_tokens=7):
        assert finish_reason == "length"
        assert not message.tool_calls
