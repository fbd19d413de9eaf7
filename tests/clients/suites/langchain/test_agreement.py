"""What the standard tests leave open: a stream says what a whole answer says, and refusals arrive as such."""

from typing import Any, Literal

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Trip(BaseModel):
    """Where somebody goes."""

    city: Literal["Rome", "Oslo"]
    days: int


@tool
def get_weather(city: str, days: int) -> str:
    """The weather of a city."""
    return f"{city}: sun for {days} days"


@pytest.fixture
def chat(anex) -> Any:
    def made(**settings: Any) -> ChatOpenAI:
        return ChatOpenAI(model=anex.chat, base_url=anex.base_url, api_key=anex.key, max_retries=0, **settings)

    return made


def gathered(model: Any, prompt: Any) -> AIMessage:
    first, *others = model.stream(prompt, stream_usage=True)
    return sum(others, start=first)


def counts(message: AIMessage) -> tuple[int, int, int]:
    told = message.usage_metadata
    assert told["total_tokens"] == told["input_tokens"] + told["output_tokens"] > 0
    return told["input_tokens"], told["output_tokens"], told["total_tokens"]


@pytest.mark.smoke
def test_stream_is_the_whole_answer(chat) -> None:
    model = chat(max_tokens=16, temperature=0, seed=3)
    whole, streamed = model.invoke("Name a river."), gathered(model, "Name a river.")
    assert whole.content == streamed.content != ""
    assert counts(whole) == counts(streamed)
    assert whole.usage_metadata["output_tokens"] <= 16
    reasons = [message.response_metadata["finish_reason"] for message in (whole, streamed)]
    assert reasons[0] == reasons[1] in ("stop", "length")


@pytest.mark.smoke
def test_usage_is_not_streamed_unless_asked_for(chat) -> None:
    assert all(not chunk.usage_metadata for chunk in chat(max_tokens=4).stream("Name a river."))


@pytest.mark.smoke
def test_log_probabilities_cover_the_answer_streamed_or_not(chat) -> None:
    model = chat(max_tokens=8, temperature=0, logprobs=True, top_logprobs=2)
    for answer in (model.invoke("Name a river."), gathered(model, "Name a river.")):
        entries = answer.response_metadata["logprobs"]["content"]
        assert "".join(entry["token"] for entry in entries) == answer.content
        assert {len(entry["top_logprobs"]) for entry in entries} == {2}


@pytest.mark.smoke
@pytest.mark.parametrize("strict", [True, False])
def test_structured_answer_is_of_its_schema(chat, strict: bool) -> None:
    model = chat(max_tokens=64, temperature=0).with_structured_output(Trip, method="json_schema", strict=strict)
    assert isinstance(model.invoke("Somebody travels to Rome for 4 days."), Trip)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_answer_holds_what_the_prompt_says(chat, method: str) -> None:
    model = chat().with_structured_output(Trip, method=method, include_raw=True)
    answer = model.invoke("Somebody travels to Rome for 4 days.")
    assert (answer["parsed"], answer["parsing_error"]) == (Trip(city="Rome", days=4), None)
    assert answer["raw"].response_metadata["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("choice", "reason"), [("auto", "tool_calls"), ("any", "tool_calls"), ("get_weather", "stop"), ("none", "stop")]
)
def test_calls_are_the_same_streamed_or_not(chat, choice: str, reason: str) -> None:
    model = chat().bind_tools([get_weather], tool_choice=choice, parallel_tool_calls=False)
    prompt = "The weather in 'Rome' for 3 days?"
    for answer in (model.invoke(prompt), gathered(model, prompt)):
        called = [(call["name"], call["args"], len(call["id"]) >= 9) for call in answer.tool_calls]
        assert called == ([] if choice == "none" else [("get_weather", {"city": "Rome", "days": 3}, True)])
        assert bool(answer.content) is (choice == "none")
        assert answer.response_metadata["finish_reason"] == reason
        assert not answer.invalid_tool_calls
        counts(answer)


def test_several_calls_are_answered_and_the_last_answer_reads_their_results(chat) -> None:
    model = chat().bind_tools([get_weather])
    asked = HumanMessage("The weather in 'Rome' for 3 and in 'Oslo' for 4 days? [[calls 2]]")
    call = model.invoke([asked])
    assert [each["args"] for each in call.tool_calls] == [{"city": "Rome", "days": 3}, {"city": "Oslo", "days": 4}]
    results = [get_weather.invoke(each) for each in call.tool_calls]
    assert all(isinstance(result, ToolMessage) for result in results)
    assert model.invoke([asked, call, *results]).content == "The tool says: Oslo: sun for 4 days"


async def test_batches_keep_their_order(chat) -> None:
    model = chat(max_tokens=5)
    prompts = [f"Name river {number}." for number in range(6)]
    answers = [answer.content for answer in await model.abatch(prompts, config={"max_concurrency": 4})]
    assert answers == [model.invoke(prompt).content for prompt in prompts]


@pytest.mark.smoke
def test_refusals_are_the_errors_of_the_sdk(chat, anex) -> None:
    with pytest.raises(openai.BadRequestError, match="maximum context length") as long:
        chat().invoke("word " * 40_000)
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as refused:
        chat(n=2).invoke("hi")
    assert (refused.value.param, refused.value.code) == ("n", "invalid_request")
    with pytest.raises(openai.BadRequestError, match="logit_bias"):
        chat(logit_bias={1: 1}).invoke("hi")
    with pytest.raises(openai.NotFoundError) as unknown:
        chat().invoke("hi", model="nobody")
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.AuthenticationError):
        ChatOpenAI(model=anex.chat, base_url=anex.base_url, api_key="sk-nobody", max_retries=0).invoke("hi")
