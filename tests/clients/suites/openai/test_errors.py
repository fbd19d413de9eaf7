"""Errors: the client's classes, ids of requests, and what is sent again."""

import time
import uuid

import openai
import pytest
from asked import HI, says


@pytest.mark.parametrize(
    ("model", "key", "kind", "status", "code"),
    [
        ("scripted", "sk-" + "x" * 55, openai.AuthenticationError, 401, "invalid_api_key"),
        ("scripted", "narrow", openai.PermissionDeniedError, 403, None),
        ("scripted", "poor", openai.APIStatusError, 402, "insufficient_credits"),
        ("nobody", "", openai.NotFoundError, 404, "model_not_found"),
        ("scripted-embed", "", openai.BadRequestError, 400, None),
        ("gemma4-12b", "", openai.InternalServerError, 501, None),
    ],
)
def test_each_status_is_its_class(anex, model, key, kind, status, code) -> None:
    key = {"": anex.key, "narrow": anex.narrow_key, "poor": anex.poor_key}.get(key, key)
    with (
        openai.OpenAI(base_url=anex.base_url, api_key=key, max_retries=0) as client,
        pytest.raises(kind) as refused,
    ):
        client.chat.completions.create(model=model, messages=HI)
    assert refused.value.status_code == status
    assert isinstance(refused.value.code, str)
    assert refused.value.code == (code or refused.value.code)
    assert refused.value.request_id
    assert refused.value.type


def test_failing_server_is_an_internal_error_and_a_busy_one_a_rate_limit(client, anex) -> None:
    with pytest.raises(openai.InternalServerError) as failed:
        client.chat.completions.create(model=anex.chat, messages=says("[[status 500]]"))
    assert failed.value.code == "upstream_error"
    with pytest.raises(openai.RateLimitError) as busy:
        client.chat.completions.create(model=anex.chat, messages=says("[[status 429]]"))
    assert busy.value.response.headers["retry-after"]
    time.sleep(1.1)


@pytest.mark.parametrize("model", ["gemma4-12b", "nobody"])
def test_what_cannot_succeed_is_sent_once(retrying, sent, model) -> None:
    with pytest.raises(openai.APIStatusError):
        retrying.chat.completions.create(model=model, messages=HI)
    assert len(sent) == 1


def test_request_without_credits_is_sent_once(retrying, sent, anex) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        retrying.with_options(api_key=anex.poor_key).chat.completions.create(model=anex.chat, messages=HI)
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert len(sent) == 1


def test_passing_fault_is_sent_again_and_answered(retrying, sent, anex) -> None:
    prompt = says(f"[[status 500 1]] {uuid.uuid4()}")
    assert retrying.chat.completions.create(model=anex.chat, messages=prompt).choices
    assert [request.headers["x-stainless-retry-count"] for request in sent] == ["0", "1"]


@pytest.mark.smoke
def test_answers_carry_their_request_id_and_raw_responses_their_headers(client, anex) -> None:
    reply = client.chat.completions.create(model=anex.chat, messages=HI, max_tokens=4)
    assert reply._request_id in reply.id
    raw = client.chat.completions.with_raw_response.create(model=anex.chat, messages=HI, max_tokens=4)
    assert (raw.status_code, raw.headers["content-type"]) == (200, "application/json")
    assert raw.request_id
    assert raw.parse().choices
    with client.chat.completions.with_streaming_response.create(
        model=anex.chat, messages=HI, max_tokens=4, stream=True
    ) as streamed:
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert streamed.request_id
        lines = [line for line in streamed.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"


def test_calls_that_are_not_offered_are_not_found_and_sent_once(retrying, sent, anex) -> None:
    for call in (
        lambda: retrying.responses.create(model=anex.chat, input="Hi."),
        lambda: retrying.completions.create(model=anex.chat, prompt="Hi."),
        lambda: retrying.moderations.create(input="Hi."),
        lambda: retrying.images.generate(prompt="A river."),
    ):
        with pytest.raises(openai.NotFoundError) as missing:
            call()
        assert isinstance(missing.value.code, str)
        assert missing.value.message
    assert len(sent) == 4
