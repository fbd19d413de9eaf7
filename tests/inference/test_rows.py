"""What a checked row holds and what a model server is sent for it."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.catalogue import Model, get
from inference.requests.rows import ChatRow, EmbeddingRow, RowError, RowOptions, has_answer, parse, upstream_body

USER = {"role": "user", "content": "hi"}
TEXT_MODEL, EFFORT_MODEL, PLAIN_MODEL = "qwen3-14b", "qwen3.8-27b", "smollm2-135m-instruct"


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model is not None
    return model


def line(**body: Any) -> bytes:
    request = {"custom_id": "r", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [USER], **body}}
    return json.dumps(request).encode()


def sent(raw: bytes, options: RowOptions, *, model_id: str = TEXT_MODEL, max_tokens: int = 1000) -> dict[str, Any]:
    model = model_named(model_id)
    row = parse(raw, model=model, options=options)
    body = upstream_body(row, served_name="served", model=model, options=options, max_tokens=max_tokens)
    result: dict[str, Any] = orjson.loads(body)
    return result


@given(st.binary(max_size=200))
def test_any_bytes_are_a_row_or_a_row_error(raw: bytes) -> None:
    try:
        assert isinstance(parse(raw, model=model_named(TEXT_MODEL), options=RowOptions()), ChatRow)
    except RowError as error:
        assert error.message


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = {
    "role": st.sampled_from(["system", "user", "assistant", "tool", "developer"]) | JSON,
    "content": st.text(max_size=5) | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": JSON})) | JSON,
    "tool_calls": st.lists(
        st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": JSON, "arguments": JSON}) | JSON})
    ),
}
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(st.fixed_dictionaries({}, optional=FIELDS), max_size=3) | JSON},
    optional={
        "temperature": JSON,
        "stream": JSON,
        "chat_template_kwargs": JSON | st.fixed_dictionaries({"enable_thinking": JSON, "reasoning_effort": JSON}),
        "response_format": JSON
        | st.fixed_dictionaries(
            {"type": st.just("json_schema"), "json_schema": st.fixed_dictionaries({"schema": JSON})}
        ),
    },
)


@given(BODIES)
def test_any_body_is_refused_or_can_be_sent(body: dict[str, Any]) -> None:
    raw = orjson.dumps({"custom_id": "r", "method": "POST", "url": "/v1/chat/completions", "body": body})
    model = model_named(EFFORT_MODEL)
    try:
        row = parse(raw, model=model, options=RowOptions())
    except RowError as error:
        assert error.message
        return
    options = RowOptions()
    first = upstream_body(row, served_name="s", model=model, options=options, max_tokens=5)
    assert first == upstream_body(row, served_name="s", model=model, options=options, max_tokens=5)
    assert orjson.loads(first)["messages"]


def test_custom_id_comes_back_byte_for_byte() -> None:
    custom_id = ' Zeile\t\u0000 \u2028 漢 \U0001f642 \\ " '
    raw = line().replace(b'"r"', json.dumps(custom_id).encode())
    assert parse(raw, model=model_named(TEXT_MODEL), options=RowOptions()).custom_id == custom_id


def test_line_of_five_megabytes_is_a_row() -> None:
    row = parse(
        line(messages=[{"role": "user", "content": "x" * 5_000_000}]),
        model=model_named(TEXT_MODEL),
        options=RowOptions(),
    )
    assert len(row.messages[0]["content"]) == 5_000_000


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_hundred_thousand_nested_brackets_are_refused(opening: bytes) -> None:
    with pytest.raises(RowError) as refusal:
        parse(opening * 100_000, model=model_named(TEXT_MODEL), options=RowOptions())
    assert refusal.value.code == "too_deep"


def test_nesting_that_could_not_be_sent_on_is_refused() -> None:
    deep = b"[" * 500 + b"]" * 500
    raw = line(extra=0).replace(b'"extra": 0', b'"extra": ' + deep)
    with pytest.raises(RowError) as refusal:
        parse(raw, model=model_named(TEXT_MODEL), options=RowOptions())
    assert refusal.value.code == "too_deep"


def test_many_shallow_arrays_are_no_depth() -> None:
    parts = [{"type": "text", "text": "x"}] * 1000
    assert parse(
        line(messages=[{"role": "user", "content": parts}]), model=model_named(TEXT_MODEL), options=RowOptions()
    )


def test_unknown_part_sentence_names_the_type_and_the_supported_ones() -> None:
    with pytest.raises(RowError) as refusal:
        parse(
            line(messages=[{"role": "user", "content": [{"type": "banana"}]}]),
            model=model_named(TEXT_MODEL),
            options=RowOptions(),
        )
    assert refusal.value.message == (
        "unsupported content part type 'banana': supported types are text, image_url, input_audio, audio_url, video_url"
    )


def test_row_without_settings_sends_only_what_it_says() -> None:
    assert sent(line(model="x", top_p=0.1), RowOptions()) == {
        "model": "served",
        "messages": [USER],
        "max_tokens": 1000,
    }


def test_row_settings_win_over_the_jobs() -> None:
    options = RowOptions(temperature=1.5, reasoning=True, response_format={"type": "json_object"})
    raw = line(temperature=0, chat_template_kwargs={"enable_thinking": False}, response_format={"type": "text"})
    body = sent(raw, options)
    assert body["temperature"] == 0
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "response_format" not in body


def test_job_settings_apply_where_the_row_is_silent() -> None:
    options = RowOptions(
        temperature=0.5, reasoning=True, reasoning_effort="medium", response_format={"type": "json_object"}
    )
    body = sent(line(), options, model_id=EFFORT_MODEL)
    assert body["temperature"] == 0.5
    assert body["chat_template_kwargs"] == {"enable_thinking": True, "reasoning_effort": "medium"}
    assert body["response_format"] == {"type": "json_object"}


def test_row_effort_wins_and_a_row_without_thinking_drops_the_jobs() -> None:
    options = RowOptions(reasoning_effort="xhigh")
    own = sent(line(chat_template_kwargs={"reasoning_effort": "low"}), options, model_id=EFFORT_MODEL)
    off = sent(line(chat_template_kwargs={"enable_thinking": False}), options, model_id=EFFORT_MODEL)
    assert own["chat_template_kwargs"] == {"reasoning_effort": "low"}
    assert off["chat_template_kwargs"] == {"enable_thinking": False}


def test_kwargs_of_other_names_never_reach_the_template() -> None:
    raw = line(chat_template_kwargs={"chat_template": "{{ secret }}", "enable_thinking": True})
    assert sent(raw, RowOptions())["chat_template_kwargs"] == {"enable_thinking": True}


def test_model_without_thinking_is_sent_no_thinking_settings() -> None:
    raw = line(chat_template_kwargs={"enable_thinking": False})
    assert "chat_template_kwargs" not in sent(raw, RowOptions(reasoning=False), model_id=PLAIN_MODEL)


OFF = {"enable_thinking": False}


@pytest.mark.parametrize(
    ("options", "body", "budget"),
    [
        (RowOptions(reasoning_budget=500), {}, 500),
        (RowOptions(reasoning_budget=990), {}, 936),
        (RowOptions(reasoning_budget=0), {}, None),
        (RowOptions(), {}, None),
        (RowOptions(reasoning_budget=500), {"response_format": {"type": "json_object"}}, None),
        (RowOptions(reasoning_budget=500), {"response_format": {"type": "text"}}, 500),
        (RowOptions(estimated_budget=300), {}, 300),
        (RowOptions(estimated_budget=300, reasoning_budget=0), {"chat_template_kwargs": OFF}, None),
        (RowOptions(estimated_budget=300), {"chat_template_kwargs": OFF}, None),
        (RowOptions(estimated_budget=300), {"response_format": {"type": "json_object"}}, None),
    ],
)
def test_thinking_budget_leaves_the_answer_its_room(
    options: RowOptions, body: dict[str, Any], budget: int | None
) -> None:
    assert sent(line(**body), options).get("thinking_token_budget") == budget


def test_schema_without_a_name_gets_one() -> None:
    form = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}, "strict": True}}
    assert sent(line(response_format=form), RowOptions())["response_format"] == {
        "type": "json_schema",
        "json_schema": {"schema": {"type": "object"}, "strict": True, "name": "response"},
    }


def test_call_history_is_sent_in_one_spelling() -> None:
    calls = [{"id": "call_1", "type": "function", "index": 0, "function": {"name": "f", "arguments": None}}]
    history = [
        USER,
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
    ]
    assert sent(line(messages=history), RowOptions())["messages"][1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_earlier_thinking_reaches_the_server_under_both_of_its_names(name: str) -> None:
    history = [USER, {"role": "assistant", "content": "4", name: "2 + 2"}, USER]
    assert sent(line(messages=history), RowOptions())["messages"][1] == {
        "role": "assistant",
        "content": "4",
        "reasoning": "2 + 2",
        "reasoning_content": "2 + 2",
    }


def test_a_field_as_long_as_its_line_is_quoted_by_its_beginning() -> None:
    body = {"x" * 1_000_000: 1}
    row = json.dumps({"custom_id": "r", "method": "POST", "url": "/v1/systemone", "body": body}).encode()
    with pytest.raises(RowError) as refused:
        parse(row, model=model_named("scripted-decide"), options=RowOptions())
    assert refused.value.param == "body." + "x" * 64 + "…"
    assert len(refused.value.message) < 300


@pytest.mark.parametrize(("vector", "whole"), [([0.5, 1], True), ([0.5], False), ([], False), ([0.5, None], False)])
def test_a_vector_narrower_than_the_row_asks_is_no_answer(vector: list[Any], whole: bool) -> None:
    assert has_answer(EmbeddingRow("r", "text", 2), {"data": [{"embedding": vector}]}) is whole
