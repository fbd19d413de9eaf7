"""What a plan does to requests under `/openai/v1`: shut, trimmed, shortened; `/v1` has rules of its own."""

from typing import Any

import httpx
import pytest

from accounts.models import Plan
from accounts.plans import PlanTerms
from accounts.services import plans
from anex.core.actors import system
from tests.realtime.served import Surface

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "first " * 50},
    {"role": "assistant", "content": "answer"},
    {"role": "user", "content": "newest"},
]
LEFT = [TALK[0], TALK[-1]]


def bind(**terms: Any) -> None:
    plan, _ = Plan.objects.get_or_create(slug="default", defaults={"name": "Default", "is_default": True})
    plans.change(plan_id=plan.pk, terms=PlanTerms(**terms), actor=system("tests"), reason="a test")


def ask(surface: Surface, path: str = "/openai/v1", messages: Any = TALK, **body: Any) -> httpx.Response:
    asked = {"model": "scripted", "messages": messages, "max_tokens": 20} | body
    return surface.http.post(f"{path}/chat/completions", json=asked)


@pytest.mark.parametrize("call", ["chat/completions", "embeddings"])
@pytest.mark.parametrize("model", ["scripted", "nobody", None])
def test_plan_without_requests_refuses_before_the_model_is_looked_at(surface: Surface, call: str, model) -> None:
    bind(surfaces=frozenset({"batch"}))
    body = {"model": model, "messages": TALK, "input": "a"}
    error = surface.http.post(f"/openai/v1/{call}", json=body).json()["error"]
    assert (error["code"], error["plan"], error["retry"]) == ("plan_has_no_api_generate", "default", "no")
    assert surface.http.get("/openai/v1/models").status_code == 200
    assert surface.chat().json()["error"]["code"] == "plan_has_no_chat"
    bind(surfaces=frozenset({"decisions"}))
    told = ask(surface)
    assert (told.status_code, told.json()["error"]["code"]) == (403, "plan_has_no_chat")


@pytest.mark.parametrize("stream", [True, False])
def test_history_beyond_the_budget_is_left_out_and_told(surface: Surface, stream: bool) -> None:
    whole, newest = (ask(surface, messages=messages).json()["usage"]["prompt_tokens"] for messages in (TALK, LEFT))
    bind(history_budget_bytes=400)
    assert surface.http.get("/openai/v1/models/scripted").json()["history_budget_bytes"] == 400
    trimmed = ask(surface, stream=stream)
    assert trimmed.headers["x-anex-history-trimmed"] == "dropped=2, shortened=0"
    assert surface.settled(3)[-1].input_tokens == newest < whole
    untouched = ask(surface, "/v1")
    assert "x-anex-history-trimmed" not in untouched.headers
    assert untouched.json()["usage"]["prompt_tokens"] == whole
    assert "x-anex-history-trimmed" not in ask(surface, messages=LEFT).headers


def test_default_plan_trims_nothing(surface: Surface) -> None:
    long = [{"role": role, "content": "x" * 5_000} for _ in range(3) for role in ("user", "assistant")]
    answer = ask(surface, messages=[*long, TALK[-1]])
    assert (answer.status_code, "x-anex-history-trimmed" in answer.headers) == (200, False)


def test_plan_shortens_answers(surface: Surface) -> None:
    bind(max_output_tokens=3)
    for asked in ({"max_tokens": 20}, {"max_tokens": None}, {"max_completion_tokens": 9, "max_tokens": None}):
        answer = ask(surface, messages=[{"role": "user", "content": "[[tokens 20]]"}], **asked).json()
        assert (answer["choices"][0]["finish_reason"], answer["usage"]["completion_tokens"]) == ("length", 3)
