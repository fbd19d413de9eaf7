"""Tools: every form of `tool_choice`, several calls, whole and streamed."""

import json

import openai
import pytest
from asked import CLOCK, WEATHER, says
from pydantic import BaseModel

NAMED = {"type": "function", "function": {"name": "get_weather"}}
PARIS = says('What is the weather in "Paris"?')


def ask(client, anex, **asked):
    return client.chat.completions.create(**{"model": anex.chat, "messages": PARIS, "tools": [WEATHER, CLOCK]} | asked)


def test_auto_calls_what_the_prompt_is_about_and_goes_on_with_its_result(client, anex) -> None:
    choice = ask(client, anex).choices[0]
    (call,) = choice.message.tool_calls
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert (call.type, call.function.name) == ("function", "get_weather")
    assert json.loads(call.function.arguments)["city"] == "Paris"
    assert len(call.id) >= 9
    result = {"role": "tool", "tool_call_id": call.id, "content": "Sunny."}
    told = ask(client, anex, messages=[*PARIS, choice.message, result]).choices[0]
    assert (told.finish_reason, told.message.tool_calls) == ("stop", None)
    assert "Sunny." in told.message.content


def test_none_answers_in_text(client, anex) -> None:
    choice = ask(client, anex, tool_choice="none").choices[0]
    assert choice.message.content
    assert not choice.message.tool_calls
    assert choice.finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("choice", "reason"), [("required", "tool_calls"), (NAMED, "stop")])
def test_forced_call_finishes_as_openais_do(client, anex, choice, reason, stream) -> None:
    asked = {"messages": says("Hello."), "tool_choice": choice, "max_tokens": 100}
    if stream:
        with client.chat.completions.stream(model=anex.chat, tools=[WEATHER, CLOCK], **asked) as events:
            done = events.get_final_completion().choices[0]
    else:
        done = ask(client, anex, **asked).choices[0]
    assert done.finish_reason == reason
    assert [call.function.name for call in done.message.tool_calls] == ["get_weather"]
    assert isinstance(json.loads(done.message.tool_calls[0].function.arguments)["city"], str)


@pytest.mark.parametrize("stream", [False, True])
def test_forced_call_that_is_cut_off_is_text(client, anex, stream) -> None:
    asked = {"tool_choice": "required", "max_tokens": 3, "stream": stream}
    if stream:
        chunks = list(ask(client, anex, **asked))
        assert not any(chunk.choices[0].delta.tool_calls for chunk in chunks)
        assert chunks[-1].choices[0].finish_reason == "length"
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        return
    cut = ask(client, anex, **asked).choices[0]
    assert (cut.finish_reason, cut.message.tool_calls) == ("length", None)
    assert cut.message.content


def test_parallel_calls_are_streamed_with_an_index_each(client, anex) -> None:
    prompt = says('Use the weather of "Paris" and the clock. [[calls 2]]')
    whole = ask(client, anex, messages=prompt).choices[0].message.tool_calls
    assert [call.function.name for call in whole] == ["get_weather", "read_clock"]
    assert len({call.id for call in whole}) == 2
    names, ids, arguments = {}, {}, {}
    for chunk in ask(client, anex, messages=prompt, stream=True):
        for piece in chunk.choices[0].delta.tool_calls or []:
            if piece.id:
                assert piece.index not in ids
                ids[piece.index], names[piece.index] = piece.id, piece.function.name
            arguments[piece.index] = arguments.get(piece.index, "") + (piece.function.arguments or "")
    assert list(names.values()) == ["get_weather", "read_clock"]
    assert list(arguments.values()) == [call.function.arguments for call in whole]
    one = ask(client, anex, messages=prompt, parallel_tool_calls=False, tool_choice="required").choices[0]
    assert len(one.message.tool_calls) == 1


def test_tool_choice_that_cannot_be_met_is_refused(client, anex) -> None:
    for choice in ({"type": "function", "function": {"name": "nothing"}}, "sometimes", {"type": "function"}):
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client, anex, tool_choice=choice)
        assert refused.value.param.startswith("tool_choice")


def test_strict_tools_are_parsed_into_their_models(client, anex) -> None:
    class GetWeather(BaseModel):
        city: str
        days: int

    tool = openai.pydantic_function_tool(GetWeather, name="get_weather")
    reply = client.chat.completions.parse(model=anex.chat, messages=PARIS, tools=[tool], tool_choice="required")
    (call,) = reply.choices[0].message.tool_calls
    assert isinstance(call.function.parsed_arguments, GetWeather)
    assert call.function.parsed_arguments.city == "Paris"
