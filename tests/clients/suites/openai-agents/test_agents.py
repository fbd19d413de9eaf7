"""Agents on the model that is their default, Responses, and on chat completions: tools, forms, hand-offs, sessions."""

import openai
import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    Model,
    ModelBehaviorError,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    RunResult,
    RunResultStreaming,
    SQLiteSession,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from openai.types.shared import Reasoning
from pydantic import BaseModel

set_tracing_disabled(True)

COUNTED = ModelSettings(include_usage=True)


class Trip(BaseModel):
    """Where somebody goes."""

    city: str
    days: int
    notes: list[str]


class Weather:
    """A tool, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

        @function_tool
        def get_weather(city: str, days: int) -> str:
            """The weather of a city."""
            self.asked.append((city, days))
            return f"{city}: sun for {days} days"

        self.tool = get_weather


@pytest.fixture(params=[OpenAIResponsesModel, OpenAIChatCompletionsModel], ids=["responses", "chat"])
async def model(request, anex) -> Model:
    async with AsyncOpenAI(base_url=anex.base_url, api_key=anex.key, max_retries=0) as client:
        yield request.param(model=anex.chat, openai_client=client)


@pytest.fixture
def weather() -> Weather:
    return Weather()


async def run(agent: Agent, prompt: str, *, stream: bool) -> RunResult | RunResultStreaming:
    """A finished run; the text that a stream brings must be its final text."""
    if not stream:
        return await Runner.run(agent, prompt)
    result = Runner.run_streamed(agent, prompt)
    texts: list[str] = []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            texts.append(event.data.delta)
    if isinstance(result.final_output, str):
        assert "".join(texts).endswith(result.final_output)
    return result


# An answer that its cap cut off is an error of the Responses model.
capped = pytest.mark.parametrize("model", [OpenAIChatCompletionsModel], indirect=True, ids=["chat"])
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.mark.smoke
@pytest.mark.second
@capped
async def test_streamed_answer_is_the_whole_one_with_its_usage(model) -> None:
    settings = ModelSettings(include_usage=True, max_tokens=16, temperature=0)
    agent = Agent(name="Guide", instructions="You know rivers.", model=model, model_settings=settings)
    results = [await run(agent, "Name a river.", stream=stream) for stream in (False, True)]
    texts, counts = [], []
    for result in results:
        usage = result.context_wrapper.usage
        assert usage.total_tokens == usage.input_tokens + usage.output_tokens
        assert (usage.requests, 0 < usage.output_tokens <= 16) == (1, True)
        texts.append(result.final_output)
        counts.append((usage.input_tokens, usage.output_tokens))
    assert texts[0] == texts[1] != ""
    assert counts[0] == counts[1]


@pytest.mark.parametrize("model", [OpenAIResponsesModel], indirect=True, ids=["responses"])
async def test_responses_are_the_same_whole_and_streamed_and_say_when_they_are_cut(model) -> None:
    agent = Agent(name="Guide", instructions="You know rivers.", model=model)
    whole, streamed = [await run(agent, "Name a river.", stream=stream) for stream in (False, True)]
    assert whole.final_output == streamed.final_output != ""
    assert whole.context_wrapper.usage.output_tokens == streamed.context_wrapper.usage.output_tokens > 0
    short = Agent(name="Guide", model=model, model_settings=ModelSettings(max_tokens=2))
    with pytest.raises(ModelBehaviorError, match="max_output_tokens"):
        await run(short, "Name a river.", stream=False)


@pytest.mark.second
@both
@pytest.mark.parametrize("choice", [None, "auto", "required", "get_weather"])
async def test_tool_is_called_with_its_arguments_and_its_result_read(model, weather, choice, stream) -> None:
    settings = ModelSettings(tool_choice=choice, parallel_tool_calls=False, include_usage=True)
    agent = Agent(name="Guide", model=model, tools=[weather.tool], model_settings=settings)
    result = await run(agent, "What is the weather in 'Rome' for 3 days?", stream=stream)
    assert weather.asked == [("Rome", 3)]
    assert result.final_output == "The tool says: Rome: sun for 3 days"
    assert result.context_wrapper.usage.requests == 2
    called = [item.raw_item for item in result.new_items if item.type == "tool_call_item"]
    assert [call.name for call in called] == ["get_weather"]
    assert all(len(call.call_id) >= 9 for call in called)


@both
async def test_forbidden_tool_is_not_called(model, weather, stream) -> None:
    agent = Agent(name="Guide", model=model, tools=[weather.tool], model_settings=ModelSettings(tool_choice="none"))
    result = await run(agent, "What is the weather in 'Rome' for 3 days?", stream=stream)
    assert weather.asked == []
    assert result.final_output


@both
async def test_several_calls_of_one_answer(model, weather, stream) -> None:
    agent = Agent(name="Guide", model=model, tools=[weather.tool], model_settings=COUNTED)
    result = await run(agent, "The weather in 'Rome' for 3 and 'Oslo' for 4 days [[calls 2]]", stream=stream)
    assert sorted(weather.asked) == [("Oslo", 4), ("Rome", 3)]
    assert result.final_output == "The tool says: Oslo: sun for 4 days"


@pytest.mark.second
@both
async def test_structured_output(model, stream) -> None:
    agent = Agent(name="Planner", instructions="Plan a trip.", model=model, output_type=Trip)
    result = await run(agent, "4 days in 'Rome'", stream=stream)
    assert result.final_output == Trip(city="Rome", days=4, notes=[])


@both
async def test_structured_output_after_a_tool(model, weather, stream) -> None:
    agent = Agent(name="Planner", model=model, tools=[weather.tool], output_type=Trip)
    result = await run(agent, "A trip by the weather: 4 days in 'Rome'", stream=stream)
    assert weather.asked == [("Rome", 4)]
    assert result.final_output == Trip(city="Rome", days=4, notes=[])


@pytest.mark.second
@both
async def test_hand_off_to_another_agent(model, stream) -> None:
    italian = Agent(name="Italian expert", instructions="You know Italy.", model=model)
    triage = Agent(name="Triage", instructions="Hand off.", model=model, handoffs=[italian])
    result = await run(triage, "Please transfer me to the Italian expert.", stream=stream)
    assert result.last_agent is italian
    assert result.final_output == 'The tool says: {"assistant": "Italian expert"}'


@both
async def test_agent_as_a_tool(model, stream) -> None:
    inner = Agent(name="Translator", instructions="Translate.", model=model)
    tool = inner.as_tool(tool_name="translate_words", tool_description="Translates.")
    outer = Agent(name="Guide", model=model, tools=[tool])
    result = await run(outer, "Please translate 'the river'.", stream=stream)
    alone = await Runner.run(inner, "the river")
    assert result.final_output == f"The tool says: {alone.final_output}"


@pytest.mark.second
@both
async def test_thinking_comes_apart_from_the_answer(model, stream) -> None:
    settings = ModelSettings(reasoning=Reasoning(effort="low"), include_usage=True)
    agent = Agent(name="Thinker", model=model, model_settings=settings)
    result = await run(agent, "Name a river.", stream=stream)
    thought, answer = result.raw_responses[0].output
    assert thought.type == "reasoning"
    assert thought.summary[0].text
    assert answer.content[0].text == result.final_output
    usage = result.context_wrapper.usage
    assert 0 < usage.output_tokens_details.reasoning_tokens < usage.output_tokens


@pytest.mark.second
async def test_conversation_of_a_session_is_sent_again(model, weather) -> None:
    session = SQLiteSession("test")
    agent = Agent(name="Guide", instructions="You know weather.", model=model, tools=[weather.tool])
    await Runner.run(agent, "What is the weather in 'Rome' for 3 days?", session=session)
    result = await Runner.run(agent, "Thank you.", session=session)
    assert result.final_output
    assert weather.asked == [("Rome", 3)]
    kinds = [item.get("type") or item["role"] for item in await session.get_items()]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user", "message"]


async def test_guardrail_of_an_agent_of_its_own(model) -> None:
    checker = Agent(name="Checker", model=model, output_type=Trip)

    @input_guardrail
    async def only_rome(_context, _agent, prompt) -> GuardrailFunctionOutput:
        trip = (await Runner.run(checker, prompt)).final_output
        return GuardrailFunctionOutput(output_info=trip, tripwire_triggered=trip.city != "Rome")

    agent = Agent(name="Guide", model=model, input_guardrails=[only_rome])
    assert (await Runner.run(agent, "4 days in 'Rome'")).final_output
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, "4 days in 'Oslo'")


@capped
async def test_settings_that_change_nothing_pass(model) -> None:
    settings = ModelSettings(
        temperature=0.2, top_p=0.5, frequency_penalty=0.1, presence_penalty=0.1, max_tokens=5, store=True,
        metadata={"project": "rivers"}, parallel_tool_calls=False, top_logprobs=2, extra_body={"user": "ada"},
    )  # fmt: skip
    result = await Runner.run(Agent(name="Guide", model=model, model_settings=settings), "Name a river.")
    assert len(result.final_output.split()) == 5


@pytest.mark.smoke
async def test_refusals_are_the_errors_of_the_sdk(model, anex) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        settings = ModelSettings(temperature=3.0)
        await Runner.run(Agent(name="Guide", model=model, model_settings=settings), "hi")
    assert (refused.value.param, refused.value.code) == ("temperature", "invalid_request")
    nobody = type(model)(
        model=anex.chat, openai_client=AsyncOpenAI(base_url=anex.base_url, api_key="sk-nobody", max_retries=0)
    )
    with pytest.raises(openai.AuthenticationError):
        await Runner.run(Agent(name="Guide", model=nobody), "hi")
