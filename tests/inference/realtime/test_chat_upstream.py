"""What a model server is sent for a chat request (reference 000, chat completions and reasoning)."""

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.errors import AnexError
from inference.catalogue import Model, get
from inference.media.parts import fetched
from inference.requests import chat_fields, chat_request, chat_upstream
from inference.requests.profiles import OPENAI_V1, V1, Profile
from inference.requests.tools import PLAIN_TEXT

GEMMA, NEMOTRON = "gemma4-12b", "nemotron-3-nano-omni-30b"
HI: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
FUNCTIONS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("weather", "time")
]
CALLED = [
    *HI,
    {"role": "assistant", "tool_calls": [{"id": "call_000001", "function": {"name": "time", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "call_000001", "content": "noon"},
]
NAMED = {"type": "function", "function": {"name": "time"}}


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model
    return model


def read(model_id: str, **body: Any) -> chat_request.ChatRequest:
    return chat_request.read({"model": model_id, "messages": HI, **body}, model=model_named(model_id), profile=V1)


def sent(model_id: str = GEMMA, **body: Any) -> dict[str, Any]:
    model = model_named(model_id)
    upstream: dict[str, Any] = orjson.loads(
        chat_upstream.write(read(model_id, **body), served_name="served", model=model)
    )
    return upstream


def test_every_request_is_streamed_with_usage_all_along() -> None:
    assert sent() == {
        "model": "served",
        "messages": HI,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }


def test_sampling_goes_on_as_it_was_asked_for() -> None:
    asked = {"temperature": 0, "top_p": 0.5, "seed": 3, "stop": "END", "top_k": 0, "min_p": 0.1, "presence_penalty": -1}
    found = sent(**asked, max_completion_tokens=7, logprobs=True, top_logprobs=2, user="u", n=1)
    assert {name: found[name] for name in asked} == {**asked, "stop": ["END"]}
    assert (found["max_tokens"], found["logprobs"], found["top_logprobs"]) == (7, True, 2)
    assert found.keys().isdisjoint({"user", "n", "max_completion_tokens"})


def test_a_top_p_of_zero_becomes_what_a_server_takes() -> None:
    assert 0 < sent(top_p=0)["top_p"] < 0.0001


@pytest.mark.parametrize(("choice", "sent_choice"), [("auto", "auto"), ("required", "required"), (NAMED, NAMED)])
@pytest.mark.parametrize("model_id", [GEMMA, NEMOTRON])
def test_every_tool_stays_in_the_prompt_of_a_call(model_id: str, choice: Any, sent_choice: Any) -> None:
    found = sent(model_id, tools=FUNCTIONS, tool_choice=choice)
    assert [tool["function"]["name"] for tool in found["tools"]] == [tool["function"]["name"] for tool in FUNCTIONS]
    assert found["tool_choice"] == sent_choice


def test_functions_of_a_forced_call_are_strict_unless_told_otherwise() -> None:
    loose = [{**tool, "function": {**tool["function"], "strict": False}} for tool in FUNCTIONS]
    assert [strict(tools=FUNCTIONS, tool_choice=choice) for choice in ("auto", "required", NAMED)] == [
        [None, None],
        [True, True],
        [None, True],
    ]
    assert strict(tools=loose, tool_choice="required") == [False, False]


def strict(**body: Any) -> list[bool | None]:
    return [tool["function"].get("strict") for tool in sent(**body)["tools"]]


def test_tools_without_a_choice_are_left_to_the_model() -> None:
    found = sent(tools=FUNCTIONS, parallel_tool_calls=False)
    assert (found["tool_choice"], found["parallel_tool_calls"]) == ("auto", False)


@pytest.mark.parametrize(
    ("model_id", "messages", "stay"),
    [(GEMMA, HI, False), (GEMMA, CALLED, False), (NEMOTRON, HI, False), (NEMOTRON, CALLED, True)],
)
def test_none_leaves_tools_out_until_one_was_called(model_id: str, messages: list[dict[str, Any]], stay: bool) -> None:
    found = sent(model_id, messages=messages, tools=FUNCTIONS, tool_choice="none", reasoning={"enabled": True})
    assert found["chat_template_kwargs"] == {"enable_thinking": False}
    assert ("tools" in found, found.get("tool_choice")) == (stay, "none" if stay else None)
    assert (found["messages"][0] == {"role": "system", "content": PLAIN_TEXT}) is stay


@pytest.mark.parametrize("content", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_the_instruction_stands_at_the_top_of_a_system_prompt(content: Any) -> None:
    messages = [{"role": "system", "content": content}, *CALLED]
    first = sent(NEMOTRON, messages=messages, tools=FUNCTIONS, tool_choice="none")["messages"][0]
    told = first["content"] if isinstance(content, str) else "".join(part["text"] for part in first["content"])
    assert (first["role"], told) == ("system", f"{PLAIN_TEXT}\n\nBe brief.")


def test_a_forced_call_takes_the_place_of_a_format_and_has_its_schemas_checked() -> None:
    form = {"type": "json_object"}
    assert sent(response_format=form)["response_format"] == form
    assert "response_format" not in sent(response_format=form, tools=FUNCTIONS, tool_choice="required")
    forced = read(GEMMA, tools=FUNCTIONS, tool_choice=NAMED)
    assert [path for path, _ in forced.schemas] == ["tools[1].function.parameters"]


@pytest.mark.parametrize(
    ("asked", "thinks"),
    [
        ({}, None),
        ({"reasoning": {"enabled": True}}, True),
        ({"reasoning": {"max_tokens": 9}}, True),
        ({"reasoning_effort": "low"}, True),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning": {"enabled": False}, "reasoning_effort": "high"}, False),
        ({"reasoning": {"exclude": True}, "reasoning_effort": "high"}, True),
        ({"reasoning": {"enabled": True}, "chat_template_kwargs": {"enable_thinking": False}}, False),
    ],
)
def test_thinking_follows_the_nearest_word(asked: dict[str, Any], thinks: bool | None) -> None:
    for model_id in (GEMMA, NEMOTRON):
        assert sent(model_id, **asked).get("chat_template_kwargs", {}).get("enable_thinking") is thinks


@pytest.mark.parametrize(
    ("model_id", "asked", "budget"),
    [
        (GEMMA, {"reasoning": {"max_tokens": 1000}}, 1000),
        (GEMMA, {"reasoning": {"max_tokens": 1000}, "max_tokens": 500}, 436),
        (GEMMA, {"reasoning": {"max_tokens": 1000}, "response_format": {"type": "json_object"}}, None),
        (GEMMA, {"reasoning": {"max_tokens": 1000}, "response_format": {"type": "text"}}, 1000),
        (GEMMA, {"reasoning": {"enabled": False, "max_tokens": 1000}}, None),
        (GEMMA, {"reasoning_effort": "high"}, None),
        (NEMOTRON, {"reasoning": {"max_tokens": 1000}}, None),
    ],
)
def test_a_cap_on_thinking_holds_where_the_model_takes_one(
    model_id: str, asked: dict[str, Any], budget: int | None
) -> None:
    assert sent(model_id, **asked).get("thinking_token_budget") == budget


def test_media_is_sent_with_its_bytes_in_its_place() -> None:
    model = model_named(GEMMA)
    audio = {"type": "input_audio", "input_audio": {"data": "https://a.example/x.wav", "format": "wav"}}
    request = read(GEMMA, messages=[{"role": "user", "content": [audio, {"type": "text", "text": "hear"}]}])
    assert [part.at for part in request.media] == ["body.messages[0].content[0]"]
    whole = msgspec.structs.replace(request, media=(fetched(request.media[0], b"bytes", format="wav"),))
    upstream = orjson.loads(chat_upstream.write(whole, served_name="m", model=model))
    assert upstream["messages"][0]["content"][0]["input_audio"] == {"data": "Ynl0ZXM=", "format": "wav"}
    most = chat_upstream.most_usage(request, model)
    assert (most.input_tokens, most.clips, most.audio_ms) == (model.context_tokens, 1, 30_000)


@given(st.text(max_size=300), st.integers(1, 32768))
def test_no_text_has_more_tokens_than_its_hold_counts(text: str, cap: int) -> None:
    request = read(GEMMA, messages=[{"role": "user", "content": text}], max_tokens=cap)
    most = chat_upstream.most_usage(request, model_named(GEMMA))
    assert len(text.encode()) < most.input_tokens <= 32768
    assert most.output_tokens == cap


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = [*sorted(chat_fields.KNOWN - {"model"}), "provider", "logit_bias", "functions"]


@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4), st.booleans(), st.sampled_from((V1, OPENAI_V1)))
def test_any_json_is_a_request_or_a_refusal(body: dict[str, Any], has_messages: bool, profile: Profile) -> None:
    whole = {"model": GEMMA, **body, **({"messages": HI} if has_messages else {})}
    model = model_named(GEMMA)
    try:
        request = chat_request.read(whole, model=model, profile=profile)
        chat_upstream.write(request, served_name="m", model=model)
    except AnexError as error:
        assert (error.status, "body." in error.message) == (400, False)
        assert (error.code == "invalid_request") is (profile is V1)
