"""Thinking on vLLM: on and off, capped, left out. The model only acts it: its template begins the thought."""

from typing import Any

import httpx
import pytest

from tests.vllm.conftest import Platform, asked


def message_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


@pytest.mark.parametrize(
    ("body", "thinks"),
    [
        ({}, False),
        ({"reasoning": {"enabled": False}}, False),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning": {"enabled": True}}, True),
        ({"reasoning_effort": "low"}, True),
        ({"chat_template_kwargs": {"enable_thinking": True}}, True),
    ],
)
def test_thinking_is_apart_from_the_answer(platform: Platform, body: dict[str, Any], thinks: bool) -> None:
    answer = platform.chat(**body)
    assert bool(message_of(answer).get("reasoning_content")) is thinks
    assert bool(message_of(answer)["content"]) is not thinks
    usage = answer.json()["usage"]
    assert usage["completion_tokens"] == 24
    assert ("completion_tokens_details" in usage) is not thinks


def test_cap_ends_the_thinking_and_leaves_the_answer(platform: Platform) -> None:
    capped = {"reasoning": {"enabled": True, "max_tokens": 30}, "max_tokens": 200}
    answer = platform.chat(**capped)
    assert message_of(answer)["reasoning_content"]
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert answer.json()["usage"]["completion_tokens"] < 120
    asked_for = asked("Name three rivers.", **capped)
    thought = text = ""
    body = {"reasoning": asked_for.pop("reasoning")}
    for chunk in platform.openai.chat.completions.create(**asked_for, extra_body=body, stream=True):
        delta = chunk.choices[0].delta
        thought += getattr(delta, "reasoning_content", None) or ""
        text += delta.content or ""
    assert (thought, text) == (message_of(answer)["reasoning_content"], message_of(answer)["content"])


def test_excluded_thinking_is_billed_and_not_told(platform: Platform) -> None:
    told = platform.chat(reasoning={"enabled": True})
    kept = platform.chat(reasoning={"enabled": True, "exclude": True})
    assert "reasoning_content" not in message_of(kept)
    assert kept.json()["usage"]["completion_tokens"] == told.json()["usage"]["completion_tokens"] == 24
    assert platform.bill(kept.headers["x-request-id"])[2] == 24


def test_log_probabilities_carry_the_thinking(platform: Platform) -> None:
    choice = platform.chat(reasoning={"enabled": True}, logprobs=True).json()["choices"][0]
    assert "".join(e["token"] for e in choice["logprobs"]["content"]) == choice["message"]["reasoning_content"]
