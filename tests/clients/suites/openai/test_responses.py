"""The Responses API as the package speaks it: typed streams, parsed answers, a tool loop, what is refused."""

import json

import openai
import pytest
from pydantic import BaseModel

TOOL = {
    "type": "function",
    "name": "get_weather",
    "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class River(BaseModel):
    """A river."""

    name: str
    length: int


@pytest.mark.smoke
def test_streamed_response_is_the_whole_one_with_its_counts(anex, client) -> None:
    asked = {"model": anex.chat, "input": "Name a river.", "max_output_tokens": 16, "temperature": 0}
    whole = client.responses.create(**asked)
    assert whole.output_text
    assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens
    assert whole.status in ("completed", "incomplete")
    with client.responses.stream(**asked) as stream:
        events = list(stream)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text == events[-1].response.output_text
    assert events[-1].response.usage.output_tokens == whole.usage.output_tokens


@pytest.mark.smoke
def test_completion_is_the_text_of_the_response(anex, client) -> None:
    asked = {"model": anex.chat, "temperature": 0}
    response = client.responses.create(input="Name a river.", max_output_tokens=8, **asked)
    whole = client.completions.create(prompt="Name a river.", max_tokens=8, **asked)
    assert whole.choices[0].text == response.output_text
    assert whole.usage.completion_tokens == response.usage.output_tokens
    chunks = client.completions.create(prompt="Name a river.", max_tokens=8, stream=True, **asked)
    assert "".join(chunk.choices[0].text for chunk in chunks) == response.output_text


def test_answers_are_parsed_whole_and_streamed(anex, client) -> None:
    asked = {"model": anex.chat, "input": "Tell of 'Rhine', 1233 km.", "text_format": River}
    expected = River(name="Rhine", length=1233)
    assert client.responses.parse(**asked).output_parsed == expected
    with client.responses.stream(**asked) as stream:
        assert stream.get_final_response().output_parsed == expected


def test_tool_loop_sends_back_what_it_got(anex, client) -> None:
    talk = [{"role": "user", "content": 'What is the weather in "Paris"?'}]
    for choice in ("auto", "required", {"type": "function", "name": "get_weather"}):
        with client.responses.stream(model=anex.chat, input=talk, tools=[TOOL], tool_choice=choice) as stream:
            called = stream.get_final_response()
        (call,) = [item for item in called.output if item.type == "function_call"]
        assert json.loads(call.arguments) == {"city": "Paris"}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny in Paris."}
    told = client.responses.create(model=anex.chat, input=[*talk, *called.output, result], tools=[TOOL])
    assert "Sunny in Paris." in told.output_text


def test_thinking_is_an_item_of_its_own(anex, client) -> None:
    told = client.responses.create(model=anex.chat, input="Think.", reasoning={"effort": "low", "summary": "auto"})
    thought, said = told.output
    assert thought.summary[0].text
    assert thought.summary[0].text not in said.content[0].text
    assert told.usage.output_tokens_details.reasoning_tokens


def test_what_is_stored_elsewhere_is_refused_by_its_name(anex, client) -> None:
    for name, value in (("previous_response_id", "resp_1"), ("conversation", "conv_1"), ("background", True)):
        with pytest.raises(openai.BadRequestError) as refused:
            client.responses.create(model=anex.chat, input="hi", **{name: value})
        assert refused.value.param == name


def test_response_that_breaks_off_is_an_error(anex, client) -> None:
    with (
        pytest.raises(openai.APIError),
        client.responses.stream(model=anex.chat, input="[[tokens 9]] [[cut]]") as stream,
    ):
        stream.get_final_response()
