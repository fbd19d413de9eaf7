"""OpenAILike as a chat model and as it is by default: answers, tools, agents, structured output, streams."""

from collections.abc import Callable
from typing import Any

import openai
import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ChatResponse, MessageRole
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

RIVERS = [ChatMessage(role="system", content="You know rivers."), ChatMessage(role="user", content="Name one.")]
WEATHER = "The weather in 'Rome' for 3 days?"
TRIP = PromptTemplate("A trip of 4 days in 'Rome'")


class Trip(BaseModel):
    """Where somebody goes."""

    city: str
    days: int


def get_weather(city: str, days: int) -> str:
    """The weather of a city."""
    return f"{city}: sun for {days} days"


TOOL = FunctionTool.from_defaults(get_weather)


@pytest.fixture
def llm(anex) -> Callable[..., OpenAILike]:
    place = {"model": anex.chat, "api_base": anex.base_url, "api_key": anex.key, "max_retries": 0}

    def made(**settings: Any) -> OpenAILike:
        return OpenAILike(**place, is_chat_model=True, context_window=2048, **settings)

    return made


def reason(answer: ChatResponse) -> str:
    return answer.raw.choices[0].finish_reason


@pytest.mark.second
@pytest.mark.smoke
async def test_streamed_answer_is_the_whole_one(llm) -> None:
    model = llm(max_tokens=16, temperature=0)
    whole = model.chat(RIVERS)
    assert whole.message.role == MessageRole.ASSISTANT
    assert whole.message.content
    assert reason(whole) in ("stop", "length")
    streamed = list(model.stream_chat(RIVERS))
    assert streamed[-1].message.content == whole.message.content == "".join(chunk.delta for chunk in streamed)
    assert (await model.achat(RIVERS)).message.content == whole.message.content
    assert "".join([chunk.delta async for chunk in await model.astream_chat(RIVERS)]) == whole.message.content


@pytest.mark.smoke
def test_usage_is_counted_whole_and_where_a_stream_is_asked_for_it(llm) -> None:
    model = llm(max_tokens=8, temperature=0)
    whole = model.chat(RIVERS).raw.usage
    assert whole.total_tokens == whole.prompt_tokens + whole.completion_tokens
    assert 0 < whole.completion_tokens <= 8
    chunks = list(model.stream_chat(RIVERS, stream_options={"include_usage": True}))
    told = [chunk.raw.usage for chunk in chunks if chunk.raw.usage]
    assert [(each.prompt_tokens, each.completion_tokens) for each in told] == [
        (whole.prompt_tokens, whole.completion_tokens)
    ]
    assert not any(chunk.raw.usage for chunk in model.stream_chat(RIVERS))


@pytest.mark.smoke
def test_completion_is_a_chat_of_one_message(llm) -> None:
    model = llm(max_tokens=8, temperature=0)
    text = model.complete("Name a river.").text
    assert text == model.chat([ChatMessage(role="user", content="Name a river.")]).message.content
    assert list(model.stream_complete("Name a river."))[-1].text == text


@pytest.mark.second
@pytest.mark.smoke
async def test_by_default_it_speaks_legacy_completions(anex) -> None:
    place = {"model": anex.chat, "api_base": anex.base_url, "api_key": anex.key, "max_retries": 0}
    model = OpenAILike(**place, max_tokens=8, temperature=0)
    whole = model.complete("Name a river.")
    assert whole.raw.object == "text_completion"
    assert whole.text
    assert "".join(piece.delta for piece in model.stream_complete("Name a river.")) == whole.text
    assert (await model.acomplete("Name a river.")).text == whole.text
    assert model.chat(RIVERS).message.content


def test_by_default_it_asks_for_all_the_room_it_knows_of(anex) -> None:
    place = {"model": anex.chat, "api_base": anex.base_url, "api_key": anex.key, "max_retries": 0}
    assert OpenAILike(**place).complete("Name a river.").text


def test_parameters_reach_the_model(llm) -> None:
    settings = {"top_p": 0.5, "seed": 3, "stop": ["\n\n"], "frequency_penalty": 0.1, "presence_penalty": 0.1}
    answer = llm(max_tokens=5, temperature=0.2, additional_kwargs=settings).chat(RIVERS)
    assert (answer.raw.usage.completion_tokens, reason(answer)) == (5, "length")


@pytest.mark.smoke
def test_log_probabilities_cover_the_answer(llm) -> None:
    answer = llm(max_tokens=8, temperature=0, logprobs=True, top_logprobs=2).chat(RIVERS)
    entries = answer.raw.choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == answer.message.content
    assert {len(alternatives) for alternatives in answer.logprobs} == {2}


@pytest.mark.second
def test_thinking_comes_apart_from_the_answer(llm) -> None:
    answer = llm(additional_kwargs={"reasoning_effort": "low"}).chat(RIVERS)
    message = answer.raw.choices[0].message
    assert message.reasoning_content
    assert answer.message.content == message.content == llm().chat(RIVERS).message.content
    details = answer.raw.usage.completion_tokens_details
    assert 0 < details.reasoning_tokens < answer.raw.usage.completion_tokens


@pytest.mark.parametrize(("required", "choice"), [(False, None), (True, None), (False, "get_weather")])
@pytest.mark.parametrize("parallel", [True, False])
async def test_tool_is_called_whole_and_streamed(llm, required: bool, choice: str | None, parallel: bool) -> None:
    model = llm(is_function_calling_model=True)
    settings = {"tool_required": required, "tool_choice": choice, "allow_parallel_tool_calls": parallel}
    answers = [
        model.chat_with_tools([TOOL], user_msg=WEATHER, **settings),
        list(model.stream_chat_with_tools([TOOL], user_msg=WEATHER, **settings))[-1],
        await model.achat_with_tools([TOOL], user_msg=WEATHER, **settings),
    ]
    for answer in answers:
        (call,) = model.get_tool_calls_from_response(answer)
        assert (call.tool_name, call.tool_kwargs) == ("get_weather", {"city": "Rome", "days": 3})
        assert len(call.tool_id) >= 9
    assert reason(answers[0]) == ("stop" if choice else "tool_calls")


def test_several_calls_of_one_answer(llm) -> None:
    model = llm(is_function_calling_model=True)
    asked = "The weather in 'Rome' for 3 and in 'Oslo' for 4 days? [[calls 2]]"
    settings = {"allow_parallel_tool_calls": True}
    for answer in (
        model.chat_with_tools([TOOL], user_msg=asked, **settings),
        list(model.stream_chat_with_tools([TOOL], user_msg=asked, **settings))[-1],
    ):
        called = [call.tool_kwargs for call in model.get_tool_calls_from_response(answer)]
        assert called == [{"city": "Rome", "days": 3}, {"city": "Oslo", "days": 4}]


def test_forbidden_tool_is_not_called(llm) -> None:
    answer = llm(is_function_calling_model=True).chat_with_tools([TOOL], user_msg=WEATHER, tool_choice="none")
    assert answer.message.content
    assert not answer.message.additional_kwargs.get("tool_calls")


@pytest.mark.second
async def test_agent_answers_by_the_result_of_its_tool(llm) -> None:
    for streaming in (True, False):
        agent = FunctionAgent(tools=[TOOL], llm=llm(is_function_calling_model=True), streaming=streaming)
        result = await agent.run(WEATHER)
        assert str(result) == "The tool says: Rome: sun for 3 days"
        assert [call.tool_kwargs for call in result.tool_calls] == [{"city": "Rome", "days": 3}]
    predicted = llm(is_function_calling_model=True).predict_and_call([TOOL], WEATHER)
    assert str(predicted) == "Rome: sun for 3 days"


@pytest.mark.parametrize(
    "settings",
    [
        {"is_function_calling_model": True},
        {"is_function_calling_model": False, "should_use_structured_outputs": True},
    ],
    ids=["by a call", "by a response format"],
)
async def test_structured_answer(llm, settings) -> None:
    model = llm(**settings)
    expected = Trip(city="Rome", days=4)
    assert model.structured_predict(Trip, TRIP) == expected
    assert await model.astructured_predict(Trip, TRIP) == expected
    assert list(model.stream_structured_predict(Trip, TRIP))[-1].model_dump() == expected.model_dump()
    asked = [ChatMessage(role="user", content="4 days in 'Rome'")]
    assert model.as_structured_llm(Trip).chat(asked).raw == expected


@pytest.mark.second
@pytest.mark.smoke
def test_structured_answer_is_of_its_schema(llm) -> None:
    class Answer(BaseModel):
        """Whether it is one."""

        found: bool
        count: int

    model = llm(should_use_structured_outputs=True, max_tokens=64, temperature=0)
    assert isinstance(model.structured_predict(Answer, PromptTemplate("Is the Danube a river?")), Answer)


def test_a_call_cannot_be_required_without_tools(llm) -> None:
    """As OpenAILike does for structured answers when it is told neither of the two ways above."""
    with pytest.raises(openai.BadRequestError) as refused:
        llm(is_function_calling_model=False).structured_predict(Trip, TRIP)
    assert refused.value.param == "tool_choice"


@pytest.mark.smoke
def test_refusals_are_the_errors_of_the_sdk(llm) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        llm(additional_kwargs={"top_p": 3}).chat(RIVERS)
    assert (refused.value.param, refused.value.code) == ("top_p", "invalid_request")
    with pytest.raises(openai.BadRequestError) as long:
        llm().complete("word " * 40_000)
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.NotFoundError):
        llm().chat(RIVERS, model="nobody")
