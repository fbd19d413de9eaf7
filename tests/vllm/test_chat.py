"""Chat on vLLM: whole, streamed, its settings, its bill, and what does not fit."""

import time
from typing import Any

import httpx
import openai
import pytest

from tests.vllm.conftest import CHAT, Platform, asked, text_of


def test_answer_is_the_servers_own_and_costs_what_it_counted(platform: Platform) -> None:
    answer = platform.chat()
    own = platform.direct(CHAT, "/v1/chat/completions", asked("Name three rivers."))
    assert text_of(answer) == own["choices"][0]["message"]["content"]
    body, told = answer.json(), own["usage"]
    assert (body["object"], body["model"], body["choices"][0]["finish_reason"]) == ("chat.completion", CHAT, "length")
    assert body["usage"]["prompt_tokens"] == told["prompt_tokens"]
    assert body["usage"]["completion_tokens"] == told["completion_tokens"] == 24
    assert platform.bill(answer.headers["x-request-id"]) == (told["prompt_tokens"], 0, 24, "answered")


def test_stream_is_the_whole_answer_in_pieces(platform: Platform) -> None:
    asked_for: dict[str, Any] = asked("Name three rivers.", max_tokens=40)
    whole = platform.openai.chat.completions.create(**asked_for)
    stream = platform.openai.chat.completions.create(**asked_for, stream=True, stream_options={"include_usage": True})
    *chunks, last = stream
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert [delta.role for delta in deltas if delta.role] == ["assistant"]
    assert len(chunks) > 10
    ends = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason]
    assert ends == [whole.choices[0].finish_reason]
    assert (last.choices, last.usage) == ([], whole.usage)
    assert all(chunk.choices for chunk in platform.openai.chat.completions.create(**asked_for, stream=True))


def test_settings_of_an_answer_reach_the_model(platform: Platform) -> None:
    free = text_of(platform.chat(max_tokens=40))
    stop = free.split()[6]
    stopped = platform.chat(max_tokens=40, stop=[stop, "never"])
    assert text_of(stopped) == free[: free.index(stop)]
    assert stopped.json()["choices"][0]["finish_reason"] == "stop"
    drawn = [text_of(platform.chat(temperature=1.5, seed=seed)) for seed in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2]
    capital = "What is the capital of France?"
    likeliest = text_of(platform.chat(capital, max_tokens=8))
    for one in ({"top_k": 1}, {"top_p": 0}, {"min_p": 1}):
        assert text_of(platform.chat(capital, max_tokens=8, temperature=1.5, **one)) == likeliest
    parts = [{"type": "text", "text": "What is the capital "}, {"type": "text", "text": "of France?"}]
    messages = [{"role": "user", "content": parts, "name": "ada"}]
    assert text_of(platform.chat(messages=messages, max_tokens=8)) == likeliest


def test_prompt_read_from_the_cache_is_told_and_cheaper(platform: Platform) -> None:
    long = "Some rivers: " + ", ".join(f"the {number}th river" for number in range(100))
    cold, warm = (platform.chat(long) for _ in range(2))
    told = [answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in (cold, warm)]
    assert told[0] == 0 < told[1] < cold.json()["usage"]["prompt_tokens"]
    assert [platform.bill(answer.headers["x-request-id"])[1] for answer in (cold, warm)] == told


def test_prompt_that_does_not_fit_is_refused_with_the_counts(platform: Platform) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as refused:
            platform.openai.chat.completions.create(**asked("river " * 3000), stream=stream)
        assert (refused.value.code, refused.value.param) == ("context_length_exceeded", "messages")
        assert "context length is 2048 tokens" in refused.value.message
        assert "at least 2049" in refused.value.message
        assert refused.value.request_id
        assert platform.bill(refused.value.request_id) == (0, 0, 0, "refused")


def test_cap_beyond_the_room_that_is_left_ends_with_it(platform: Platform) -> None:
    answer = platform.chat("river " * 1900, max_tokens=1000)
    usage = answer.json()["usage"]
    assert usage["total_tokens"] <= 2048
    assert platform.bill(answer.headers["x-request-id"])[2] == usage["completion_tokens"]


@pytest.mark.parametrize("stream", [True, False])
def test_client_that_leaves_stops_the_model_and_pays_for_what_there_was(platform: Platform, stream: bool) -> None:
    endless = {"type": "array", "items": {"type": "integer"}, "minItems": 900}
    form = {"type": "json_schema", "json_schema": {"name": "numbers", "schema": endless}}
    body = asked("Count to a thousand.", stream=stream, max_tokens=1000, response_format=form)
    with httpx.Client(timeout=60 if stream else 4) as leaving:
        post = leaving.stream("POST", f"{platform.origin}/v1/chat/completions", json=body, headers=platform.headers)
        try:
            with post as answer:
                for count, _ in enumerate(answer.iter_lines()):
                    if count > 10:
                        break
        except httpx.ReadTimeout:
            assert not stream
    left = time.monotonic()
    while running(platform):
        assert time.monotonic() < left + 2
        time.sleep(0.02)
    _, _, output, status = last_bill(platform)
    assert status == "left"
    assert 3 <= output < 1000


def running(platform: Platform) -> bool:
    metrics = httpx.get(f"http://127.0.0.1:{platform.ports[CHAT]}/metrics").text.splitlines()
    return any(line.startswith("vllm:num_requests_running") and not line.endswith(" 0.0") for line in metrics)


def last_bill(platform: Platform) -> tuple[int, int, int, str]:
    """Of the request that was settled last, once none is under way."""
    until = time.monotonic() + 10
    while platform.stack.query("SELECT 1 FROM billing_account WHERE in_flight > 0"):
        assert time.monotonic() < until
        time.sleep(0.02)
    ((source,),) = platform.stack.query("SELECT source FROM billing_usagerecord ORDER BY id DESC LIMIT 1")
    return platform.bill(source)
