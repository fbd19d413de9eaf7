"""`/openai/v1`: the same calls as on `/v1`, under the rules of its own profile (reference 004)."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import orjson
import pytest
from openai import OpenAI

from accounts.plans import PlanTerms
from accounts.services import plans
from anex.core.actors import system
from anex.settings.base import BASE_DIR
from realtime.house import Patience
from realtime.sse import DONE, Parser
from tests.factories import KeyInHand
from tests.inference.scripted_server import ScriptedServer
from tests.realtime.served import Surface, configure, serving

TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture
def client(surface: Surface) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{surface.origin}/openai/v1", api_key=surface.key.secret, max_retries=0) as opened:
        yield opened


def chat(surface: Surface, text: str = "hi", **body: Any) -> httpx.Response:
    asked = {"model": "scripted", "messages": [{"role": "user", "content": text}], "max_tokens": 50}
    return surface.http.post("/openai/v1/chat/completions", json=asked | body)


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    *chunks, end = Parser().feed(answer.content)
    assert end == DONE
    return [orjson.loads(chunk) for chunk in chunks]


def test_second_surface_answers_chat_embeddings_and_models(surface: Surface, client: OpenAI) -> None:
    asked = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 20}
    answer = client.chat.completions.create(**asked)  # type: ignore[call-overload]
    assert answer.choices[0].message.content == surface.chat(max_tokens=20).json()["choices"][0]["message"]["content"]
    assert len(client.embeddings.create(model="scripted-embed", input=["a"] * 129).data) == 129
    assert {model.id for model in client.models.list()} == {"scripted", "scripted-media", "scripted-embed"}
    assert client.models.retrieve("scripted").id == "scripted"
    too_long = surface.http.post("/openai/v1/chat/completions", content=b" " * (1024 * 1024 + 1))
    assert too_long.status_code == 413
    assert surface.http.get("/openai/v1/chat/completions").status_code == 405
    records = surface.settled(3)
    assert sorted(record.surface for record in records) == ["chat", "chat", "embeddings"]
    assert len({record.amount_nano for record in records if record.surface == "chat"}) == 1


def test_example_of_the_docs_runs_as_written(surface: Surface, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ANEX_API_KEY", surface.key.secret)
    page = (BASE_DIR / "anex" / "docs" / "pages" / "openai.md").read_text()
    example = page.partition("```python openai\n")[2].partition("```")[0]
    names = {"url }}/v1": f"{surface.origin}/openai/v1", "chat }}": "scripted", "embed }}": "scripted-embed"}
    for name, value in names.items():
        example = example.replace(f"{{{{ sample.{name}", value)
    exec(example, {})
    chat, response, width = capsys.readouterr().out.splitlines()
    assert chat == response
    assert (bool(chat), width) == (True, "384")


def test_models_tell_what_they_can_do_and_what_a_plan_allows(surface: Surface) -> None:
    listed = {entry["id"]: entry for entry in httpx.get(f"{surface.origin}/openai/v1/models").json()["data"]}
    told = listed["scripted"]["capabilities"]
    assert (told["tools"], told["response_format"][-1], told["reasoning_effort"]) == (
        True,
        "json_schema",
        ["none", "medium"],
    )
    assert (listed["scripted"]["context_window"], listed["scripted"]["max_output_tokens"]) == (32768, 4096)
    assert listed["scripted-embed"]["capabilities"]["dimensions"] == {"min": 32, "max": 384}
    by: Any = {"actor": system("tests"), "reason": "asked for"}
    plan = plans.create(terms=PlanTerms("small", "Small", max_output_tokens=3), **by)
    plans.give(organization_id=surface.key.caller.organization_id, plan_id=plan.pk, **by)
    assert surface.http.get("/openai/v1/models/scripted").json()["max_output_tokens"] == 3
    wrong = httpx.get(f"{surface.origin}/openai/v1/models", headers={"Authorization": "Bearer sk-nobody"})
    assert wrong.status_code == 401
    for ask in (surface.chat, lambda text: chat(surface, text)):
        assert ask("[[tokens 9]]").json()["usage"]["completion_tokens"] == 3


def test_header_names_what_is_not_applied(surface: Surface) -> None:
    answer = chat(surface, n=2, logit_bias={"1": 1}, user="u", **{"a\r\nb": 1})
    assert answer.headers["x-anex-ignored-params"] == "n, logit_bias"
    assert "x-anex-ignored-params" not in chat(surface, stream=True).headers
    refused = surface.chat(logit_bias={"1": 1}, model="scripted")
    assert (refused.status_code, "x-anex-ignored-params" in refused.headers) == (400, False)


def test_name_of_a_model_may_carry_a_level(surface: Surface) -> None:
    by_name = chat(surface, "[[think 9]]", model="scripted-thinking-high-fast").json()
    assert by_name["model"] == "scripted"
    assert by_name["choices"][0]["message"]["reasoning_content"]
    off = chat(surface, "[[think 9]]", model="scripted-thinking-high", reasoning_effort="none").json()
    assert "reasoning_content" not in off["choices"][0]["message"]
    unknown = chat(surface, model="nobody-fast").json()["error"]
    assert (unknown["code"], unknown["message"]) == ("model_not_found", "unknown model 'nobody-fast'")
    assert surface.chat(model="scripted-fast").status_code == 404


@pytest.mark.parametrize("stream", [True, False])
def test_forced_call_that_is_not_made_is_422_and_pays_for_delivered_thinking(surface: Surface, stream: bool) -> None:
    body = {"tools": [TOOL], "tool_choice": "required", "stream": stream}
    free = chat(surface, "[[calls 0]]", **body)
    assert free.status_code == 422
    error = free.json()["error"]
    assert error | {"message": ""} == {
        "message": "",
        "type": "invalid_request_error",
        "code": "tool_choice_unmet",
        "param": "tool_choice",
        "retry": "new_key",
        "charged": "refunded",
        "idempotency_key": error["idempotency_key"],
    }
    answer = chat(surface, "[[calls 0]] [[think 7]]", reasoning_effort="high", **body)
    assert answer.status_code == (200 if stream else 422)
    if stream:
        *_, last = events(answer)
        assert (last["error"]["code"], last["error"]["charged"]) == ("tool_choice_unmet", "stands")
        assert last["error"]["retry"] == "new_key"
    one, other = surface.settled(2)
    assert (one.status, one.amount_nano) == ("refused", 0)
    assert (other.status, other.output_tokens) == ("refused", 7 if stream else 0)
    assert other.amount_nano == (200 * other.input_tokens + 800 * 7 if stream else 0)


def test_charged_refusal_is_given_again_under_its_key_and_charged_once(surface: Surface) -> None:
    def ask(key: str) -> str:
        asked = {"model": "scripted", "messages": [{"role": "user", "content": "[[calls 0]]"}], "stream": True}
        asked |= {"tools": [TOOL], "tool_choice": "required", "reasoning_effort": "high"}
        headers = {"Idempotency-Key": key}
        return surface.http.post("/openai/v1/chat/completions", json=asked, headers=headers).text

    first, other = ask("a"), ask("b")
    surface.settled(2)
    assert ask("a") == first != other
    assert [record.amount_nano > 0 for record in surface.settled(2)] == [True] * 2


def test_forced_call_and_custom_call_are_kept(surface: Surface, client: OpenAI) -> None:
    custom: Any = {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}}
    answer = client.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": "hi"}],
        tools=[TOOL, custom],
        tool_choice={"type": "custom", "custom": {"name": "sql"}},
    )
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.type == "custom"
    assert (call.custom.name, answer.choices[0].finish_reason) == ("sql", "tool_calls")
    streamed = chat(surface, tools=[{"type": "custom", "name": "sql"}], tool_choice="required", stream=True)
    pieces = [piece for event in events(streamed) for piece in event["choices"][0]["delta"].get("tool_calls", [])]
    assert "".join(piece["custom"]["input"] for piece in pieces) == call.custom.input
    history: Any = [
        {"role": "user", "content": "hi"},
        answer.choices[0].message,
        {"role": "tool", "tool_call_id": call.id, "content": "42"},
    ]
    after = client.chat.completions.create(model="scripted", messages=history, tools=[custom])
    assert after.choices[0].message.content == "The tool says: 42"


def test_rules_hold_in_every_protocol(surface: Surface, client: OpenAI) -> None:
    custom: Any = {"type": "custom", "name": "sql", "description": "Runs SQL."}
    named: Any = {"type": "custom", "name": "sql"}
    asked: dict[str, Any] = {"model": "scripted-thinking-low", "input": "hi", "tools": [custom], "tool_choice": named}
    raw = client.responses.with_raw_response.create(**asked, truncation="auto", extra_body={"logit_bias": {}})
    assert sorted(raw.headers["x-anex-ignored-params"].split(", ")) == ["logit_bias", "truncation"]
    thought, call = raw.parse().output
    assert (thought.type, call.type) == ("reasoning", "custom_tool_call")
    with client.responses.stream(**asked) as stream:
        assert stream.get_final_response().output[-1].type == "custom_tool_call"
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.responses.create(**asked | {"input": "[[calls 0]]"})
    assert refused.value.code == "tool_choice_unmet"
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**asked | {"tools": [{"type": "web_search"}]})
    assert (refused.value.code, refused.value.param) == ("tools_unsupported", "tools[0].type")
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="scripted", prompt="hi", max_tokens=0)
    assert (refused.value.code, refused.value.param) == ("bad_value", "max_tokens")
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="scripted", prompt=[1, 2])
    assert (refused.value.code, refused.value.param) == ("bad_value", "prompt")
    with pytest.raises(openai.BadRequestError, match="POST /v1/systemone"):
        client.completions.create(model="scripted-decide", prompt="hi")
    form: Any = {"response_format": {"type": "json_object"}, "reasoning_effort": "low"}
    formed = client.completions.with_raw_response.create(model="scripted", prompt="hi", extra_body=form)
    assert orjson.loads(formed.parse().choices[0].text)
    assert "x-anex-ignored-params" not in formed.headers
    short = client.completions.create(model="scripted-fast", prompt="[[tokens 9]]", max_tokens=2)
    assert (short.choices[0].finish_reason, short.model) == ("length", "scripted")


def test_thinking_that_uses_up_the_answer_is_refunded(surface: Surface) -> None:
    body = {"max_tokens": 8, "reasoning_effort": "high"}
    whole, streamed = chat(surface, "[[think 9]]", **body), chat(surface, "[[think 9]]", stream=True, **body)
    assert (whole.status_code, whole.json()["error"]["code"]) == (400, "output_limit_reached")
    assert whole.headers["x-should-retry"] == "false"
    assert events(streamed)[-1]["error"]["code"] == "output_limit_reached"
    assert {record.amount_nano for record in surface.settled(2)} == {0}


@pytest.mark.parametrize("stream", [True, False])
def test_turn_ends_as_by_its_cap_when_its_time_is_over(key: KeyInHand, scripted: ScriptedServer, stream: bool) -> None:
    configure(scripted.port)
    with serving(key, Patience(turn_s=1)) as surface:
        answer = chat(surface, "[[tokens 40]] [[hold]]", stream=stream)
        last = events(answer)[-1] if stream else answer.json()
        assert (answer.status_code, last["choices"][0]["finish_reason"]) == (200, "length")
        (record,) = surface.settled()
        assert record.status == "answered"
        assert 0 < record.output_tokens < 40


def test_form_is_kept_or_refused(surface: Surface, client: OpenAI) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form: Any = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    answer = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "hi"}], response_format=form
    )
    assert orjson.loads(answer.choices[0].message.content or "").keys() == {"n"}
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "[[echo]] Sure."}], response_format=form
        )
    assert refused.value.code == "response_format_unmet"
    streamed = chat(surface, '[[echo]] {"n": "one"}', response_format=form, stream=True)
    assert events(streamed)[-1]["error"]["charged"] == "stands"
    assert [record.amount_nano > 0 for record in surface.settled(3)] == [True, False, True]


def test_tools_that_the_server_refuses_are_rejected(surface: Surface) -> None:
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}, "required": ["a"]}
    tool = {"type": "function", "name": "f", "parameters": parameters}
    refused = chat(surface, "call f", tools=[tool])
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "tools_rejected")
    (record,) = surface.settled()
    assert record.amount_nano == 0


def test_text_past_the_window_is_too_long(surface: Surface) -> None:
    asked = {"model": "scripted-embed", "input": ["a", "a " * 33_000]}
    refused = surface.http.post("/openai/v1/embeddings", json=asked)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "input_too_long")
    elsewhere = surface.http.post("/v1/embeddings", json=asked)
    assert elsewhere.json()["error"]["code"] == "context_length_exceeded"
    assert {record.amount_nano for record in surface.settled(2)} == {0}
