"""LiteLLM's completion: text, streams, tools, structured answers, thinking, refusals."""

import json
from typing import Any, Literal

import litellm
import pytest
from pydantic import BaseModel

HI = [{"role": "user", "content": "Name a river."}]
WEATHER = [{"role": "user", "content": "The weather in 'Rome' for 3 days?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    },
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}


class Trip(BaseModel):
    """Where somebody goes."""

    city: Literal["Rome", "Oslo"]
    days: int


@pytest.fixture
def chat(place, anex) -> dict[str, Any]:
    return place(anex.chat)


def text(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def counts(answer: Any) -> tuple[int, int]:
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0
    return usage.prompt_tokens, usage.completion_tokens


@pytest.mark.smoke
async def test_streamed_answer_is_the_whole_one_with_its_usage(chat) -> None:
    asked = {"messages": HI, "max_tokens": 16, "temperature": 0, **chat}
    whole = litellm.completion(**asked)
    assert whole.choices[0].message.content
    assert 0 < whole.usage.completion_tokens <= 16
    chunks = list(litellm.completion(**asked, stream=True, stream_options={"include_usage": True}))
    assert text(chunks) == whole.choices[0].message.content
    built = litellm.stream_chunk_builder(chunks, messages=HI)
    assert built.choices[0].message.content == whole.choices[0].message.content
    assert built.choices[0].finish_reason == whole.choices[0].finish_reason in ("stop", "length")
    assert counts(built) == counts(whole)
    assert sum(bool(chunk.choices and chunk.choices[0].finish_reason) for chunk in chunks) == 1
    later = await litellm.acompletion(**asked)
    assert later.choices[0].message.content == whole.choices[0].message.content
    assert text([chunk async for chunk in await litellm.acompletion(**asked, stream=True)]) == text(chunks)


@pytest.mark.smoke
def test_every_chunk_has_a_choice_where_no_usage_is_asked_for(chat) -> None:
    chunks = list(litellm.completion(messages=HI, max_tokens=4, stream=True, **chat))
    assert all(chunk.choices for chunk in chunks)


@pytest.mark.smoke
def test_log_probabilities_cover_the_answer(chat) -> None:
    answer = litellm.completion(messages=HI, max_tokens=8, temperature=0, logprobs=True, top_logprobs=2, **chat)
    entries = answer.choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == answer.choices[0].message.content
    assert {len(entry.top_logprobs) for entry in entries} == {2}


@pytest.mark.parametrize("choice", ["auto", "required", NAMED, None], ids=["auto", "required", "named", "absent"])
def test_tool_is_called_whole_and_streamed(chat, choice) -> None:
    asked = {"messages": WEATHER, "tools": [TOOL], "tool_choice": choice, "parallel_tool_calls": False, **chat}
    whole = litellm.completion(**asked)
    built = litellm.stream_chunk_builder(list(litellm.completion(**asked, stream=True)))
    for answer in (whole, built):
        (call,) = answer.choices[0].message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Rome", "days": 3})
        assert len(call.id) >= 9
        # Also of a named function, whose calls end in "stop" as they come: LiteLLM renames that.
        assert answer.choices[0].finish_reason == "tool_calls"


def test_forbidden_tool_is_not_called(chat) -> None:
    answer = litellm.completion(messages=WEATHER, tools=[TOOL], tool_choice="none", **chat)
    assert (bool(answer.choices[0].message.content), answer.choices[0].message.tool_calls) == (True, None)


def test_several_calls_are_answered_and_their_results_read(chat) -> None:
    asked = [{"role": "user", "content": "The weather in 'Rome' for 3 and in 'Oslo' for 4 days? [[calls 2]]"}]
    message = litellm.completion(messages=asked, tools=[TOOL], **chat).choices[0].message
    streamed = (
        litellm.stream_chunk_builder(list(litellm.completion(messages=asked, tools=[TOOL], stream=True, **chat)))
        .choices[0]
        .message
    )
    wanted = [{"city": "Rome", "days": 3}, {"city": "Oslo", "days": 4}]
    for each in (message, streamed):
        assert [json.loads(call.function.arguments) for call in each.tool_calls] == wanted
    results = [
        {"role": "tool", "tool_call_id": call.id, "name": "get_weather", "content": f"sun {index}"}
        for index, call in enumerate(message.tool_calls)
    ]
    answer = litellm.completion(messages=[*asked, message, *results], tools=[TOOL], **chat)
    assert answer.choices[0].message.content == "The tool says: sun 1"
    assert answer.choices[0].finish_reason == "stop"


@pytest.mark.smoke
def test_structured_answer_is_of_its_schema(chat) -> None:
    asked = [{"role": "user", "content": "Somebody travels to Rome for 4 days."}]
    answer = litellm.completion(messages=asked, response_format=Trip, max_tokens=64, temperature=0, **chat)
    Trip.model_validate_json(answer.choices[0].message.content)


def test_structured_answers_hold_what_the_prompt_says(chat) -> None:
    asked = [{"role": "user", "content": "Somebody travels to Rome for 4 days."}]
    schema = {"type": "json_schema", "json_schema": {"name": "trip", "schema": Trip.model_json_schema()}}
    for form in (Trip, schema):
        answer = litellm.completion(messages=asked, response_format=form, **chat)
        assert Trip.model_validate_json(answer.choices[0].message.content) == Trip(city="Rome", days=4)
        chunks = list(litellm.completion(messages=asked, response_format=form, stream=True, **chat))
        assert text(chunks) == answer.choices[0].message.content
    answer = litellm.completion(messages=asked, response_format={"type": "json_object"}, **chat)
    assert isinstance(json.loads(answer.choices[0].message.content), dict)


def test_thinking_comes_apart_from_the_answer(chat) -> None:
    asked = {"messages": HI, "reasoning_effort": "low", **chat}
    whole = litellm.completion(**asked)
    message = whole.choices[0].message
    assert message.reasoning_content
    assert message.content == litellm.completion(messages=HI, **chat).choices[0].message.content
    assert 0 < whole.usage.completion_tokens_details.reasoning_tokens < whole.usage.completion_tokens
    chunks = list(litellm.completion(**asked, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == message.reasoning_content
    assert text(chunks) == message.content


def test_sampling_passes(chat) -> None:
    settings = {"top_p": 0.5, "seed": 3, "stop": ["\n\n"], "presence_penalty": 0.1, "frequency_penalty": 0.2}
    answer = litellm.completion(messages=HI, max_tokens=5, temperature=0.1, user="ada", **settings, **chat)
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (5, "length")


@pytest.mark.smoke
def test_refusals_are_of_their_kinds(chat, place) -> None:
    for field, value in (("temperature", 3), ("n", 2), ("logit_bias", {"1": 1})):
        with pytest.raises(litellm.BadRequestError, match=field):
            litellm.completion(messages=HI, **{field: value}, **chat)
    with pytest.raises(litellm.ContextWindowExceededError):
        litellm.completion(messages=[{"role": "user", "content": "word " * 40_000}], **chat)
    with pytest.raises(litellm.NotFoundError):
        litellm.completion(messages=HI, **place("nobody"))
    with pytest.raises(litellm.AuthenticationError):
        litellm.completion(messages=HI, **chat | {"api_key": "sk-nobody"})


def test_failures_of_a_server_are_of_their_kinds(chat) -> None:
    for status, kind in ((429, litellm.RateLimitError), (500, litellm.BadGatewayError)):
        with pytest.raises(kind):
            litellm.completion(messages=[{"role": "user", "content": f"[[status {status}]] hi"}], **chat)
    broken = litellm.completion(messages=[{"role": "user", "content": "[[cut]] hi"}], stream=True, **chat)
    with pytest.raises(litellm.ServiceUnavailableError):
        list(broken)
    # A server that failed too often in a row would be left alone for a while.
    assert litellm.completion(messages=HI, **chat).choices[0].message.content
