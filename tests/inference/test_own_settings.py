"""What a row of an OpenAI batch keeps for itself, as the model server is sent it (reference 000, batch input file)."""

import json
from typing import Any

import orjson
import pytest

from inference.catalogue import get
from inference.requests.profiles import OPENAI
from inference.requests.rows import ChatRow, RowOptions, output_cap, parse, upstream_body

OPTIONS = RowOptions(profile=OPENAI)
GEMMA, NEMOTRON, EFFORTS = "gemma4-12b", "nemotron-3-nano-omni-30b", "qwen3.8-27b"


def read(model_id: str, **body: Any) -> ChatRow:
    request: dict[str, Any] = {"custom_id": "r", "method": "POST", "url": "/v1/chat/completions"}
    request["body"] = {"model": model_id, "messages": [{"role": "user", "content": "hi"}], **body}
    model = get(model_id)
    assert model
    row = parse(json.dumps(request).encode(), model=model, options=OPTIONS)
    assert isinstance(row, ChatRow)
    return row


def sent(model_id: str, *, job_cap: int = 32768, **body: Any) -> dict[str, Any]:
    model, row = get(model_id), read(model_id, **body)
    assert model
    upstream = upstream_body(row, served_name="m", model=model, options=OPTIONS, max_tokens=job_cap)
    found: dict[str, Any] = orjson.loads(upstream)
    return {name: value for name, value in found.items() if name not in ("model", "messages")}


def test_a_row_keeps_its_cap_and_its_sampling() -> None:
    assert sent(GEMMA, max_tokens=20, temperature=0.5, top_p=0.9, seed=3, stop="END", n=4) == {
        "max_tokens": 20,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 3,
        "stop": ["END"],
    }


@pytest.mark.parametrize(("model_id", "cap"), [(GEMMA, 4096), ("smollm2-135m-instruct", 512)])
def test_a_row_without_a_cap_gets_4096_or_the_model_s_maximum(model_id: str, cap: int) -> None:
    assert sent(model_id)["max_tokens"] == output_cap(read(model_id), 32768) == cap


def test_no_row_is_sent_a_larger_cap_than_its_job_was_priced_with() -> None:
    assert sent(GEMMA, job_cap=100)["max_tokens"] == 100


@pytest.mark.parametrize(
    ("reasoning", "thinks"),
    [
        (None, None),
        ({}, None),
        ({"exclude": True}, None),
        ({"enabled": False}, False),
        ({"effort": "none"}, False),
        ({"enabled": True, "effort": "none"}, False),
        ({"enabled": True}, True),
        ({"effort": "minimal"}, True),
        ({"max_tokens": 9}, True),
    ],
)
def test_reasoning_switches_thinking(reasoning: dict[str, Any] | None, thinks: bool | None) -> None:
    kwargs = sent(GEMMA, reasoning=reasoning).get("chat_template_kwargs", {})
    assert kwargs.get("enable_thinking") is thinks


def test_the_row_s_template_settings_win_over_its_reasoning() -> None:
    kwargs = {"enable_thinking": True}
    assert sent(GEMMA, chat_template_kwargs=kwargs, reasoning={"enabled": False})["chat_template_kwargs"] == kwargs


def test_an_effort_reaches_models_that_have_levels_and_is_a_switch_elsewhere() -> None:
    assert sent(EFFORTS, reasoning={"effort": "low"})["chat_template_kwargs"] == {
        "enable_thinking": True,
        "reasoning_effort": "low",
    }
    assert sent(EFFORTS, reasoning={"effort": "high"})["chat_template_kwargs"] == {"enable_thinking": True}
    assert sent(GEMMA, reasoning={"effort": "high"})["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize(
    ("model_id", "body", "budget"),
    [
        (GEMMA, {"reasoning": {"max_tokens": 1000}}, 1000),
        (GEMMA, {"reasoning": {"max_tokens": 1000}, "max_tokens": 100}, 36),
        (GEMMA, {"reasoning": {"max_tokens": 1000}, "response_format": {"type": "json_object"}}, None),
        (GEMMA, {"reasoning": {"enabled": False, "max_tokens": 1000}}, None),
        (GEMMA, {"reasoning": {"enabled": True}}, None),
        (NEMOTRON, {"reasoning": {"max_tokens": 1000}}, None),
    ],
)
def test_a_cap_on_thinking_leaves_room_for_the_answer(model_id: str, body: dict[str, Any], budget: int | None) -> None:
    assert sent(model_id, **body).get("thinking_token_budget") == budget
