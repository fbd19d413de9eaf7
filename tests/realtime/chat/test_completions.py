"""`POST /v1/chat/completions` as clients meet it."""

import http.client
import json

import httpx
import openai
import orjson
import pytest

from tests.realtime.served import Surface, until

HI = [{"role": "user", "content": "hi"}]


def test_openais_client_gets_an_answer_and_pays_for_it(surface: Surface) -> None:
    reply = surface.openai.chat.completions.with_raw_response.create(model="scripted", messages=HI, max_tokens=20)
    answer = reply.parse()
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    (record,) = surface.settled()
    assert record.source == f"req:{reply.headers['x-request-id']}"
    assert (record.status, record.surface, record.model_id) == ("answered", "chat", "scripted")
    assert (record.input_tokens, record.output_tokens) == (answer.usage.prompt_tokens, answer.usage.completion_tokens)
    assert record.amount_nano == 200 * record.input_tokens + 800 * record.output_tokens


def test_streamed_answer_is_the_same_text_with_usage_when_it_is_asked_for(surface: Surface) -> None:
    whole = surface.openai.chat.completions.create(model="scripted", messages=HI, max_tokens=20)
    chunks = list(
        surface.openai.chat.completions.create(
            model="scripted", messages=HI, max_tokens=20, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens  # type: ignore[union-attr]
    plain = surface.chat(stream=True).text
    assert plain.endswith("data: [DONE]\n\n")
    assert '"usage"' not in plain
    assert len({record.amount_nano for record in surface.settled(3)[:2]}) == 1


def test_silence_is_filled_with_comments_before_the_first_token_too(surface: Surface) -> None:
    text = surface.chat("[[sleep 400]] hi", stream=True).text
    assert text.startswith(": keep-alive\n\n")
    assert text.endswith("data: [DONE]\n\n")


def test_answer_that_takes_too_long_is_a_504_and_free(patient) -> None:
    surface = patient(answer_s=1.5)
    answer = surface.chat("[[hold]] hi")
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timeout")
    assert answer.headers["x-should-retry"] == "false"
    (record,) = surface.settled()
    assert (record.status, record.amount_nano) == ("failed", 0)


@pytest.mark.parametrize("stream", [True, False])
def test_client_that_leaves_ends_the_answer_and_pays_for_what_was_generated(surface, scripted, stream) -> None:
    body = {"model": "scripted", "messages": [{"role": "user", "content": "[[tokens 40]] [[hold]]"}]}
    with httpx.Client(base_url=surface.origin, headers={"Authorization": surface.key.header}) as client:
        if stream:
            with client.stream("POST", "/v1/chat/completions", json=body | {"stream": True}) as answer:
                for _, line in zip(range(8), answer.iter_lines(), strict=False):
                    assert line.startswith(("data: ", ": ")) or not line
        else:
            raw = http.client.HTTPConnection("127.0.0.1", surface.port)
            raw.request("POST", "/v1/chat/completions", json.dumps(body), {"Authorization": surface.key.header})
            until(lambda: scripted.stats()["held"] == 1)
            raw.close()
    until(lambda: scripted.stats()["in_flight"] == 0)
    (record,) = surface.settled()
    assert record.status == "left"
    assert 0 < record.output_tokens < 40
    assert record.amount_nano == 200 * record.input_tokens + 800 * record.output_tokens


def test_refusals_name_the_field_and_cost_nothing(surface: Surface) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        surface.openai.chat.completions.create(model="scripted", messages=HI, logit_bias={"1": 1})
    assert (refused.value.code, refused.value.param) == ("invalid_request", "logit_bias")
    assert refused.value.request_id
    # By these words frameworks tell it from other refusals.
    with pytest.raises(openai.BadRequestError, match="This model's maximum context length is") as refused:
        surface.openai.chat.completions.create(model="scripted", messages=[{"role": "user", "content": "a " * 33_000}])
    assert refused.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError, match="does not support image input") as refused:
        surface.openai.chat.completions.create(
            model="scripted",
            messages=[
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/a.png"}}]}
            ],
        )
    assert refused.value.param == "messages[0].content[0].type"
    (record,) = surface.settled()
    assert (record.status, record.amount_nano) == ("refused", 0)


def test_forced_calls_and_formats_pass_through(surface: Surface) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    called = surface.chat(tools=[tool], tool_choice="required", max_tokens=500).json()["choices"][0]
    assert called["finish_reason"] == "tool_calls"
    assert called["message"]["tool_calls"][0]["function"]["name"] == "f"
    answer = surface.chat(response_format={"type": "json_object"}, max_tokens=500).json()["choices"][0]
    assert isinstance(orjson.loads(answer["message"]["content"]), dict)
