"""Whatever JSON a client sends, it is a request that can be written, or a refusal with a status of its own."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.errors import AnexError, InvalidRequest
from inference.catalogue import Model, get
from inference.requests import bodies, chat_request, chat_upstream, decision_request, decisions, embedding_request
from inference.requests.profiles import SURFACES, Profile
from inference.requests.translation import rename
from realtime.chat.protocol import Head, Protocol
from realtime.completions.protocol import COMPLETIONS
from realtime.responses.protocol import RESPONSES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image_url", "input_video"]) | JSON},
    optional={
        "text": st.text(max_size=4) | JSON,
        "image_url": st.fixed_dictionaries({"url": st.sampled_from(["https://a.example/x.png", "data:,"]) | JSON})
        | JSON,
        "input_video": st.fixed_dictionaries({"data": st.sampled_from(["https://a.example/x.mp4", "AA=="]) | JSON})
        | JSON,
    },
)
QUESTION = st.fixed_dictionaries(
    {"type": st.sampled_from(["choice", "noul", "score"]) | JSON, "instructions": st.text(max_size=4) | JSON},
    optional={"criteria": JSON},
)
SURFACE = st.sampled_from(sorted(SURFACES)).map(SURFACES.__getitem__)


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model
    return model


@given(st.binary(max_size=60) | JSON.map(orjson.dumps), SURFACE)
def test_any_bytes_are_an_object_or_a_refusal(raw: bytes, profile: Profile) -> None:
    try:
        assert isinstance(bodies.decode(raw, profile=profile), dict)
    except AnexError as error:
        assert error.status in (400, 422)


def followers(value: object) -> int:
    """Values in a value that stand first in an array or object, or behind a comma."""
    if isinstance(value, dict):
        return max(1, len(value)) + sum(map(followers, value.values()))
    return max(1, len(value)) + sum(map(followers, value)) if isinstance(value, list) else 0


HOSTILE_TEXT = st.text(alphabet='a,[{"\\', max_size=8)
CROWD = st.recursive(
    HOSTILE_TEXT | st.just(0),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE_TEXT, inner, max_size=4),
    max_leaves=40,
)


@given(st.dictionaries(HOSTILE_TEXT, CROWD, max_size=4), st.integers(1, 20), SURFACE)
def test_bodies_of_too_many_values_are_refused_whatever_their_texts_hold(
    body: dict[str, Any], most: int, profile: Profile
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "MOST_VALUES", most)
        raw = orjson.dumps(body)
        if len(raw) > most and followers(body) >= most:
            with pytest.raises(InvalidRequest, match="more than"):
                bodies.decode(raw, profile=profile)
        else:
            assert bodies.decode(raw, profile=profile) == body


@given(
    st.fixed_dictionaries(
        {"input": st.lists(st.lists(PART, max_size=3) | st.text(max_size=3) | JSON, max_size=4) | JSON},
        optional={"dimensions": JSON, "encoding_format": JSON, "user": JSON, "other": JSON},
    ),
    SURFACE,
)
def test_any_embeddings_body(body: dict[str, Any], profile: Profile) -> None:
    model = model_named("qwen3-vl-embedding-2b")
    try:
        request = embedding_request.read(body, model=model, profile=profile)
    except AnexError as error:
        assert (error.status in (400, 422), "body." in error.message) == (True, False)
        return
    assert embedding_request.most_usage(request, model).input_tokens > 0
    if not request.media:
        assert embedding_request.write(request, served_name="m")


@given(
    st.fixed_dictionaries(
        {
            "state": st.text(max_size=9) | JSON,
            "questions": st.dictionaries(st.text(max_size=3), QUESTION | JSON) | JSON,
        },
        optional={"lang": st.text(max_size=3) | JSON},
    ),
    SURFACE,
)
def test_any_decision_body(body: dict[str, Any], profile: Profile) -> None:
    model = model_named("laya")
    try:
        request = decision_request.read(body, model=model, profile=profile)
    except AnexError as error:
        assert error.status in (400, 422)
        return
    assert decision_request.most_usage(request, model).input_tokens > 0
    assert decision_request.window(request, model) in (512, 1024)
    decision_request.surely_fits(request, model)
    assert orjson.loads(decisions.write(request, served_name="m"))["questions"]


ITEM = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "function_call", "function_call_output", "custom_tool_call", "reasoning"])
        | st.just("item_reference")
        | JSON,
        "role": st.sampled_from(["user", "assistant"]) | JSON,
        "content": st.text(max_size=3) | st.lists(PART | JSON, max_size=2) | JSON,
        "summary": st.lists(PART | JSON, max_size=2) | JSON,
        "output": st.text(max_size=3) | st.lists(PART | JSON, max_size=2) | JSON,
        "id": st.sampled_from(["rs_1", "msg_1", "fc_1"]) | JSON,
        "call_id": st.text(max_size=3) | JSON,
        "name": st.text(max_size=3) | JSON,
        "arguments": st.sampled_from(["{}", ""]) | JSON,
        "input": st.text(max_size=3) | JSON,
    },
)
TOOL = st.fixed_dictionaries(
    {"type": st.sampled_from(["function", "custom"]) | JSON, "name": st.text(max_size=3) | JSON}
)
ASKED = st.fixed_dictionaries(
    {
        "input": st.lists(ITEM | JSON, max_size=4) | st.text(max_size=3),
        "prompt": st.none() | st.text(max_size=3) | JSON,
    },
    optional={
        "instructions": st.text(max_size=3) | JSON,
        "tools": st.lists(TOOL | JSON, max_size=2) | JSON,
        "tool_choice": TOOL | JSON,
        "text": st.fixed_dictionaries({"format": st.fixed_dictionaries({"type": st.just("json_schema")}) | JSON})
        | JSON,
        "reasoning": st.fixed_dictionaries({"effort": st.sampled_from(["low", "none"]) | JSON}) | JSON,
        "include": st.lists(JSON, max_size=2) | JSON,
        "max_tokens": JSON,
        "truncation": JSON,
        "echo": JSON,
        "other": JSON,
    },
)


@given(ASKED, SURFACE, st.sampled_from([RESPONSES, COMPLETIONS]))
def test_any_body_of_the_other_text_protocols(body: dict[str, Any], profile: Profile, protocol: Protocol) -> None:
    model, names = model_named("gemma4-12b"), {}
    try:
        chat, echo, names = protocol.translate(body, profile)
        request = chat_request.read(chat, model=model, profile=profile)
    except AnexError as error:
        rename(error, names)
        assert (error.status in (400, 422), "body." in error.message) == (True, False)
        assert (error.param or "").split(".")[0].split("[")[0] in {*body, "input", "prompt", ""}
        return
    assert chat_upstream.write(request, served_name="m", model=model)
    head = Head("resp_1", 1, "m")
    answer = protocol.whole(head, request, echo).body({"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1})
    assert orjson.dumps(answer)


@pytest.mark.parametrize("name", ["x" * 5000, "\x00", "é" * 100])
def test_a_refusal_never_repeats_a_long_name(name: str) -> None:
    body = {"state": "a", "questions": {name: {}}}
    with pytest.raises(AnexError) as refusal:
        decision_request.read(body, model=model_named("laya"), profile=SURFACES["/v1"])
    assert len(refusal.value.message) + len(refusal.value.param or "") < 400
