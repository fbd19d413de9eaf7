"""Structured outputs on vLLM, and schemas that it cannot keep to."""

import json
from typing import Any

import pytest

from realtime.servers import FAILURES
from tests.vllm.conftest import CHAT, Platform, asked, text_of

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "role": {"enum": ["admin", "guest"]},
    },
    "required": ["name", "age", "role"],
    "additionalProperties": False,
}


def form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def test_answer_keeps_to_its_schema(platform: Platform) -> None:
    person = json.loads(text_of(platform.chat("Invent a person.", response_format=form(PERSON), max_tokens=80)))
    assert person.keys() == {"name", "age", "role"}
    assert person["role"] in ("admin", "guest")
    asked_for = asked("Invent a person.", response_format=form(PERSON), max_tokens=80)
    stream = platform.openai.chat.completions.create(**asked_for, stream=True)
    assert json.loads("".join(chunk.choices[0].delta.content or "" for chunk in stream)) == person


def test_any_json_object(platform: Platform) -> None:
    kind = {"type": "json_object"}
    answer = platform.chat("Invent a person: JSON with name and age.", response_format=kind, max_tokens=200)
    assert isinstance(json.loads(text_of(answer)), dict)


@pytest.mark.parametrize("stream", [False, True])
def test_schema_without_a_grammar_is_refused_and_the_server_goes_on(platform: Platform, stream: bool) -> None:
    unknown = {"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}}
    for _ in range(FAILURES):
        refused = platform.chat(response_format=form(unknown), stream=stream)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
        assert "contains" in refused.json()["error"]["message"]
    assert platform.bill(refused.headers["x-request-id"]) == (0, 0, 0, "refused")
    assert text_of(platform.chat())


def test_schema_that_breaks_the_compiler_leaves_the_server_to_others(platform: Platform) -> None:
    for _ in range(FAILURES):
        failed = platform.chat(response_format=form({"$ref": "#"}))
        assert (failed.status_code, failed.json()["error"]["code"]) == (502, "upstream_error")
    assert text_of(platform.chat())


def test_log_probabilities_match_the_text(platform: Platform) -> None:
    cases: list[dict[str, Any]] = [{}, {"stop": [" closely", "never"]}, {"max_tokens": 300}]
    for case in cases:
        choice = platform.chat(**{"max_tokens": 60, "logprobs": True, "top_logprobs": 3} | case).json()["choices"][0]
        entries = choice["logprobs"]["content"]
        assert "".join(entry["token"] for entry in entries) == choice["message"]["content"]
        assert {len(entry["top_logprobs"]) for entry in entries} == {3}
        assert all(entry["logprob"] == entry["top_logprobs"][0]["logprob"] <= 0 for entry in entries)
        assert all(bytes(entry["bytes"]).decode() == entry["token"] for entry in entries)
    none = platform.chat(logprobs=True).json()["choices"][0]["logprobs"]["content"]
    assert {len(entry["top_logprobs"]) for entry in none} == {0}
    assert platform.chat().json()["choices"][0]["logprobs"] is None


def test_log_probabilities_of_a_stream_are_those_of_the_answer(platform: Platform) -> None:
    asked_for = asked("Name three rivers.", logprobs=True, top_logprobs=1, stop=[" human"], max_tokens=60)
    whole = platform.openai.chat.completions.create(**asked_for).choices[0]
    assert whole.logprobs
    tokens = []
    for chunk in platform.openai.chat.completions.create(**asked_for, stream=True):
        told = chunk.choices[0].logprobs
        tokens += [entry.token for entry in told.content or ()] if told else []
    assert tokens == [entry.token for entry in whole.logprobs.content or ()]
    assert "".join(tokens) == whole.message.content
    own = platform.direct(CHAT, "/v1/chat/completions", asked_for)["choices"][0]["logprobs"]["content"]
    assert tokens == [entry["token"] for entry in own][: len(tokens)]
