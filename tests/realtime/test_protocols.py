"""The three text protocols over HTTP: one answer, one count of tokens, one charge."""

import openai
import orjson
import pytest
from pydantic import BaseModel

from tests.realtime.served import Surface

ASKED = "Name a river."
TOOL = {"type": "function", "name": "get_weather", "strict": False, "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}  # fmt: skip


class Trip(BaseModel):
    """Where somebody goes."""

    city: str
    days: int


def test_same_prompt_is_the_same_text_and_charge_in_every_protocol(surface: Surface) -> None:
    client, texts = surface.openai, []
    more = {"model": "scripted", "temperature": 0, "extra_body": {"reasoning_effort": "low"}}
    chat = client.chat.completions.create(messages=[{"role": "user", "content": ASKED}], max_tokens=64, **more)
    texts.append(chat.choices[0].message.content)
    chunks = client.chat.completions.create(
        messages=[{"role": "user", "content": ASKED}], max_tokens=64, stream=True, **more
    )
    texts.append("".join(chunk.choices[0].delta.content or "" for chunk in chunks))
    more["extra_body"] = {"reasoning": {"effort": "low"}}
    response = client.responses.create(input=ASKED, max_output_tokens=64, **more)
    texts.append(response.output_text)
    with client.responses.stream(input=ASKED, max_output_tokens=64, **more) as stream:
        texts.append(stream.get_final_response().output_text)
    completion = client.completions.create(prompt=ASKED, max_tokens=64, **more)
    texts.append(completion.choices[0].text)
    pieces = client.completions.create(
        prompt=[ASKED], max_tokens=64, stream=True, stream_options={"include_usage": True}, **more
    )
    *pieces, used = pieces
    texts.append("".join(piece.choices[0].text for piece in pieces))
    assert set(texts) == {texts[0]}
    assert texts[0]
    assert response.output[0].type == "reasoning"
    assert chat.usage
    assert response.usage
    assert (response.usage.input_tokens, response.usage.output_tokens) == (
        chat.usage.prompt_tokens,
        chat.usage.completion_tokens,
    )
    assert chat.usage == completion.usage == used.usage
    records = surface.settled(6)
    assert [record.surface for record in records] == ["chat"] * 2 + ["responses"] * 2 + ["completions"] * 2
    assert len({(record.input_tokens, record.output_tokens, record.amount_nano) for record in records}) == 1
    assert records[0].amount_nano


def test_tool_loop_of_typed_responses(surface: Surface) -> None:
    talk = [{"role": "user", "content": 'What is the weather in "Paris"?'}]
    with surface.openai.responses.stream(model="scripted", input=talk, tools=[TOOL]) as stream:
        called = stream.get_final_response()
    (call,) = [item for item in called.output if item.type == "function_call"]
    assert orjson.loads(call.arguments) == {"city": "Paris"}
    talk += [item.to_dict() for item in called.output]
    talk.append({"type": "function_call_output", "call_id": call.call_id, "output": "Sunny in Paris."})
    told = surface.openai.responses.create(model="scripted", input=talk, tools=[TOOL])
    assert "Sunny in Paris." in told.output_text


def test_parsed_responses_keep_to_their_schema(surface: Surface) -> None:
    asked = {"model": "scripted", "input": "4 days in 'Rome'", "instructions": "Plan.", "text_format": Trip}
    expected = Trip(city="Rome", days=4)
    assert surface.openai.responses.parse(**asked).output_parsed == expected
    with surface.openai.responses.stream(**asked) as stream:
        assert stream.get_final_response().output_parsed == expected


def test_stream_that_breaks_off_is_an_error_of_the_client_and_free(surface: Surface) -> None:
    for ask in (
        lambda: surface.openai.responses.create(model="scripted", input="[[tokens 30]] [[cut]]", stream=True),
        lambda: surface.openai.completions.create(model="scripted", prompt="[[tokens 30]] [[cut]]", stream=True),
    ):
        with pytest.raises(openai.APIError) as failed:
            list(ask())
        assert failed.value.code == "upstream_error"
    assert {(record.status, record.amount_nano) for record in surface.settled(2)} == {("failed", 0)}


def test_refusals_name_the_field_as_it_was_written(surface: Surface) -> None:
    wrong = [{"role": "user", "content": [{"type": "input_image", "image_url": "ftp://a.example/a.png"}]}]
    with pytest.raises(openai.BadRequestError) as refused:
        surface.openai.responses.create(model="scripted-media", input=wrong)
    assert refused.value.param == "input[0].content[0].image_url"
    with pytest.raises(openai.BadRequestError, match="This model's maximum context length is") as refused:
        surface.openai.completions.create(model="scripted", prompt="a " * 33_000)
    assert (refused.value.code, refused.value.param) == ("context_length_exceeded", "prompt")
    schema = {"type": "json_schema", "name": "x", "schema": {"type": "nothing"}}
    with pytest.raises(openai.BadRequestError) as refused:
        surface.openai.responses.create(model="scripted", input="hi", text={"format": schema})
    assert refused.value.param == "text.format.schema"
