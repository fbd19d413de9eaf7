"""`/openai/v1`: what its own rules change for this client."""

from collections.abc import Iterator

import openai
import pytest
from asked import CLOCK, HI, WEATHER, says
from openai import OpenAI
from pydantic import BaseModel

SQL = {"type": "custom", "custom": {"name": "run_sql", "description": "Runs SQL.", "format": {"type": "text"}}}
NAMED = {"type": "custom", "custom": {"name": "run_sql"}}


class City(BaseModel):
    name: str
    people: int


@pytest.fixture
def second(anex) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{anex.origin}/openai/v1", api_key=anex.key, max_retries=0) as made:
        yield made


def test_custom_tool_is_called_with_text_whole_and_streamed(second, anex) -> None:
    asked = {"model": anex.chat, "messages": HI, "tools": [SQL, CLOCK], "tool_choice": NAMED}
    choice = second.chat.completions.create(**asked).choices[0]
    (call,) = choice.message.tool_calls
    assert (call.type, call.custom.name, choice.finish_reason) == ("custom", "run_sql", "tool_calls")
    pieces = [
        piece
        for chunk in second.chat.completions.create(**asked, stream=True)
        for piece in chunk.choices[0].delta.tool_calls or []
    ]
    assert (pieces[0].id, pieces[0].type) == (call.id, "custom")
    assert "".join(piece.custom["input"] for piece in pieces) == call.custom.input
    result = {"role": "tool", "tool_call_id": call.id, "content": "42"}
    told = second.chat.completions.create(
        model=anex.chat, messages=[*HI, choice.message, result], tools=[SQL, CLOCK], tool_choice="auto"
    )
    assert "42" in told.choices[0].message.content


def test_forced_call_is_made_or_refused(second, anex) -> None:
    asked = {"model": anex.chat, "tools": [WEATHER], "tool_choice": "required"}
    with second.chat.completions.stream(messages=HI, **asked) as events:
        (call,) = events.get_final_completion().choices[0].message.tool_calls
    assert call.function.name == "get_weather"
    for stream in (False, True):
        with pytest.raises(openai.APIError) as refused:
            list(second.chat.completions.create(messages=says("[[calls 0]]"), stream=stream, **asked))
        assert refused.value.code == "tool_choice_unmet"


def test_form_is_parsed(second, anex) -> None:
    asked = {"model": anex.chat, "messages": says('The city "Paris"'), "response_format": City}
    whole = second.chat.completions.parse(**asked).choices[0].message.parsed
    with second.chat.completions.stream(**asked) as events:
        streamed = events.get_final_completion().choices[0].message.parsed
    assert whole == streamed
    assert isinstance(whole, City)


def test_what_is_not_applied_is_named(second, anex) -> None:
    raw = second.chat.completions.with_raw_response.create(
        model=f"{anex.chat}-thinking-low-fast", messages=HI, n=2, logit_bias={"1": 1}, user="somebody"
    )
    assert sorted(raw.headers["x-anex-ignored-params"].split(", ")) == ["logit_bias", "n"]
    assert len(raw.parse().choices) == 1


def test_thinking_without_room_for_an_answer_says_so(second, anex) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        second.chat.completions.create(
            model=anex.chat, messages=says("[[think 20]]"), reasoning_effort="high", max_tokens=8
        )
    assert refused.value.code == "output_limit_reached"
