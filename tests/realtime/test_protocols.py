"""The three text protocols over HTTP: one answer, one count of tokens, one charge."""

import openai
import orjson
import pytest
from openai import OpenAI
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


def test_custom_tool_is_offered_and_called_as_one_on_the_second_surface(surface: Surface) -> None:
    client = OpenAI(base_url=f"{surface.origin}/openai/v1", api_key=surface.key.secret, max_retries=0)
    tool = {"type": "custom", "name": "run_code", "description": "Runs code."}
    asked = {"model": "scripted", "tools": [tool], "tool_choice": {"type": "custom", "name": "run_code"}, "top_p": 0.5}
    talk = [{"role": "user", "content": "Run 'print(1)'."}]
    whole = client.responses.create(input=talk, **asked)
    with client.responses.stream(input=talk, **asked) as stream:
        events = list(stream)
    called = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    for response in (whole, events[-1].response):
        (call,) = response.output
        assert (call.type, call.name) == ("custom_tool_call", "run_code")
        assert call.input == "".join(called) != ""
        assert call.id.startswith("ctc_")
    talk += [call.to_dict(), {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "It printed 1."}]
    told = client.responses.create(model="scripted", input=talk, tools=[tool])
    client.close()
    assert "It printed 1." in told.output_text


def test_what_is_not_applied_on_the_second_surface_is_named_as_it_was_written(surface: Surface) -> None:
    body = {
        "model": "scripted",
        "input": "hi",
        "text": {"verbosity": "low"},
        "truncation": "auto",
        "nonsense": 1,
        "n": 2,
    }
    answer = surface.http.post("/openai/v1/responses", json=body)
    assert answer.status_code == 200
    named = answer.headers["x-anex-ignored-params"].split(", ")
    assert {"text.verbosity", "truncation", "nonsense", "n"} <= {name.strip() for name in named}
    refused = surface.http.post("/openai/v1/completions", json={"model": "scripted", "prompt": ["a", "b"]})
    error = refused.json()["error"]
    assert refused.status_code == 400
    assert (error["code"], error["param"], error["charged"]) == ("bad_value", "prompt", False)


def test_a_key_in_header_or_body_counts_in_every_protocol(surface: Surface) -> None:
    asked = {"responses": {"input": "hi"}, "completions": {"prompt": "hi"}}
    for path, body in asked.items():
        keyed = {"model": "scripted", **body, "idempotency_key": f"once-{path}"}
        answers = [surface.http.post(f"/v1/{path}", json=keyed) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 409], answers[-1].text
        assert answers[1].json()["error"]["code"] == "key_settled"
    assert len([record for record in surface.settled(2) if record.amount_nano]) == 2
