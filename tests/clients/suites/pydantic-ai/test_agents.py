"""Agents on OpenAIChatModel: text, the four kinds of structured output, tools, thinking; whole and streamed."""

import struct
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    ModelHTTPError,
    ModelRetry,
    ModelSettings,
    NativeOutput,
    PromptedOutput,
    TextOutput,
    ToolOutput,
)
from pydantic_ai.exceptions import ModelAuthenticationError, ModelContextWindowExceededError
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.providers.openai import OpenAIProvider


class Trip(BaseModel):
    """Where somebody goes."""

    city: str
    days: int
    notes: list[str] = []


@pytest.fixture
async def provider(anex) -> AsyncIterator[OpenAIProvider]:
    async with AsyncOpenAI(base_url=anex.base_url, api_key=anex.key, max_retries=0) as client:
        yield OpenAIProvider(openai_client=client)


@pytest.fixture
def model(anex, provider) -> OpenAIChatModel:
    return OpenAIChatModel(anex.chat, provider=provider)


def last(messages: list[Any]) -> ModelResponse:
    assert isinstance(messages[-1], ModelResponse)
    return messages[-1]


@pytest.mark.smoke
async def test_streamed_answer_is_the_whole_one_with_its_usage(model) -> None:
    agent = Agent(model, instructions="You know rivers.", model_settings=ModelSettings(max_tokens=16, temperature=0))
    whole = await agent.run("Name a river.")
    async with agent.run_stream("Name a river.") as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        assert len(pieces) > 1
        assert "".join(pieces) == whole.output != ""
        assert stream.usage.output_tokens == whole.usage.output_tokens <= 16
        assert stream.usage.input_tokens == whole.usage.input_tokens > 0
        reasons = last(stream.all_messages()).finish_reason, last(whole.all_messages()).finish_reason
    assert reasons[0] == reasons[1] in ("stop", "length")


@pytest.mark.parametrize(
    "output", [Trip, ToolOutput(Trip, name="trip"), NativeOutput(Trip), PromptedOutput(Trip)],
    ids=["default", "tool", "native", "prompted"],
)  # fmt: skip
async def test_structured_output(model, output) -> None:
    agent = Agent(model, output_type=output, retries=0)
    trip = Trip(city="Rome", days=4)
    assert (await agent.run("4 days in 'Rome'")).output == trip
    async with agent.run_stream("4 days in 'Rome'") as stream:
        partial = [each async for each in stream.stream_output(debounce_by=None)]
        assert partial[-1] == trip
        assert await stream.get_output() == trip


@pytest.mark.smoke
async def test_native_output_is_of_its_schema(model) -> None:
    class Answer(BaseModel):
        found: bool
        count: int

    agent = Agent(model, output_type=NativeOutput(Answer), retries=0, model_settings=ModelSettings(max_tokens=64))
    assert isinstance((await agent.run("Is the Danube a river?")).output, Answer)


async def test_one_of_several_outputs(model) -> None:
    class Refusal(BaseModel):
        reason: str

    agent = Agent(model, output_type=[Trip, Refusal], retries=0)
    assert (await agent.run("A trip: 4 days in 'Rome'")).output == Trip(city="Rome", days=4)
    assert (await agent.run("A refusal: 'too far'")).output == Refusal(reason="too far")

    def shout(text: str) -> str:
        return text.upper()

    shouting = Agent(model, output_type=TextOutput(shout), retries=0)
    assert (await shouting.run("Name a river.")).output.isupper()


@pytest.mark.parametrize("parallel", [True, False])
async def test_tools_are_called_and_their_results_read(model, parallel: bool) -> None:
    asked: list[tuple[str, int]] = []
    agent = Agent(model, model_settings=ModelSettings(parallel_tool_calls=parallel))

    @agent.tool_plain
    def get_weather(city: str, days: int) -> dict[str, Any]:
        """The weather of a city."""
        asked.append((city, days))
        return {"sky": "sun", "city": city}

    prompt = "The weather in 'Rome' for 3 and in 'Oslo' for 4 days? [[calls 2]]"
    expected = [("Rome", 3), ("Oslo", 4)] if parallel else [("Rome", 3)]
    result = await agent.run(prompt)
    assert sorted(asked) == sorted(expected)
    assert result.output == f'The tool says: {{"sky":"sun","city":"{expected[-1][0]}"}}'
    assert (result.usage.requests, result.usage.tool_calls) == (2, len(expected))
    calls = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolCallPart)]
    assert [call.args_as_dict() for call in calls] == [{"city": city, "days": days} for city, days in expected]
    assert all(len(call.tool_call_id) >= 9 for call in calls)
    async with agent.run_stream(prompt) as stream:
        assert await stream.get_output() == result.output
    assert sorted(asked) == sorted(expected * 2)


async def test_refused_tool_call_and_refused_output_are_told_to_the_model(model) -> None:
    agent = Agent(model, output_type=NativeOutput(Trip))
    tries: list[str] = []

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather of a city."""
        raise ModelRetry(f"nothing is known of {city}")

    @agent.output_validator
    def twice(trip: Trip) -> Trip:
        tries.append(trip.city)
        if len(tries) == 1:
            raise ModelRetry("try again with 'Oslo'")
        return trip

    result = await agent.run("The weather of a trip: 4 days in 'Rome'")
    assert (tries, result.output.city) == (["Rome", "Oslo"], "Oslo")


async def test_conversation_is_sent_again(model) -> None:
    agent = Agent(model, system_prompt="You know weather.")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"{city}: sun"

    first = await agent.run("The weather in 'Rome'?")
    second = await agent.run("Thank you.", message_history=first.all_messages())
    assert second.output
    assert second.usage.input_tokens > first.usage.input_tokens / 2
    assert len(second.all_messages()) == len(first.all_messages()) + 2


async def test_thinking_comes_apart_from_the_answer_and_may_be_sent_again(model) -> None:
    agent = Agent(model, model_settings=OpenAIChatModelSettings(openai_reasoning_effort="low"))
    result = await agent.run("Name a river.")
    thought, answer = last(result.all_messages()).parts
    assert isinstance(thought, ThinkingPart)
    assert isinstance(answer, TextPart)
    assert thought.content
    assert answer.content == result.output
    assert 0 < result.usage.details["reasoning_tokens"] < result.usage.output_tokens
    async with agent.run_stream("Name a river.") as stream:
        assert await stream.get_output() == result.output
        assert last(stream.all_messages()).parts[0].content == thought.content
    assert (await agent.run("And now?", message_history=result.all_messages())).output


@pytest.mark.smoke
async def test_log_probabilities_cover_the_answer(model) -> None:
    settings = OpenAIChatModelSettings(openai_logprobs=True, openai_top_logprobs=2, max_tokens=8, temperature=0)
    result = await Agent(model, model_settings=settings).run("Name a river.")
    entries = last(result.all_messages()).provider_details["logprobs"]
    assert "".join(entry["token"] for entry in entries) == result.output
    assert {len(entry["top_logprobs"]) for entry in entries} == {2}


async def test_settings_pass(model) -> None:
    settings = OpenAIChatModelSettings(
        temperature=0.1, top_p=0.5, seed=3, stop_sequences=["\n\n"], presence_penalty=0.1, frequency_penalty=0.2,
        max_tokens=5, openai_user="ada", openai_store=True, openai_service_tier="auto",
    )  # fmt: skip
    result = await Agent(model, model_settings=settings).run("Name a river.")
    assert result.usage.output_tokens == 5
    assert last(result.all_messages()).finish_reason == "length"


async def test_picture_is_counted(anex, provider) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x40\x80\xc0" * 64) * 64)
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    agent = Agent(OpenAIChatModel(anex.media, provider=provider))
    plain = await agent.run(["Look."])
    seen = await agent.run(["Look.", BinaryContent(picture, media_type="image/png")])
    assert seen.output
    assert seen.usage.input_tokens > plain.usage.input_tokens


@pytest.mark.smoke
async def test_refusals_say_status_and_field(model, anex, provider) -> None:
    for settings, param in (
        (ModelSettings(temperature=3), "temperature"),
        (ModelSettings(logit_bias={"1": 1}), "logit_bias"),
    ):
        with pytest.raises(ModelHTTPError) as refused:
            await Agent(model, model_settings=settings).run("hi")
        assert (refused.value.status_code, refused.value.body["param"]) == (400, param)
    with pytest.raises(ModelContextWindowExceededError):
        await Agent(model).run("word " * 40_000)
    nobody = OpenAIProvider(base_url=anex.base_url, api_key="sk-nobody")
    with pytest.raises(ModelAuthenticationError):
        await Agent(OpenAIChatModel(anex.chat, provider=nobody)).run("hi")
    with pytest.raises(ModelHTTPError) as unknown:
        await Agent(OpenAIChatModel("nobody", provider=provider)).run("hi")
    assert (unknown.value.status_code, unknown.value.body["code"]) == (404, "model_not_found")
