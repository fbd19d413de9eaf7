"""What a chat request may hold under the rules of `/openai/v1` (reference 004), and what a model server is sent."""

from typing import Any

import orjson
import pytest

from anex.core.errors import AnexError
from inference.catalogue import Model, get
from inference.requests import chat_request, chat_upstream, embedding_request, model_names
from inference.requests.chat_request import ChatRequest
from inference.requests.profiles import OPENAI_V1

HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CUSTOM = {"type": "custom", "custom": {"name": "sql", "description": "Runs SQL."}}


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model
    return model


def read(model: str = "scripted", **body: Any) -> ChatRequest:
    return chat_request.read({"messages": HI, **body}, model=model_named(model), profile=OPENAI_V1)


def sent(model: str = "scripted", **body: Any) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(
        chat_upstream.write(read(model, **body), served_name="m", model=model_named(model))
    )
    return told


def function(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **parameters}}}


def nested(levels: int) -> dict[str, Any]:
    return {"properties": {"a": nested(levels - 2)}} if levels > 2 else {}


REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("unknown_effort", "reasoning_effort", {"reasoning_effort": "huge"}),
    ("unknown_effort", "reasoning.effort", {"reasoning": {"effort": "huge"}}),
    ("tools_unsupported", "functions", {"functions": [{"name": "f"}]}),
    ("tools_unsupported", "function_call", {"function_call": "auto"}),
    ("tools_unsupported", "tools[1].type", {"tools": [TOOL, {"type": "web_search"}]}),
    ("tools_unsupported", "tool_choice.type", {"tools": [TOOL], "tool_choice": {"type": "file_search"}}),
    ("bad_value", "tools[0].function.name", {"tools": [function("a b")]}),
    ("bad_value", "tools[0].name", {"tools": [{"type": "function", "name": "x" * 65}]}),
    ("bad_value", "tools[1].function.name", {"tools": [TOOL, TOOL]}),
    ("bad_value", "tools[0].parameters", {"tools": [{"type": "function", "name": "f", "parameters": 1}]}),
    ("bad_value", "tools[0].custom.name", {"tools": [{"type": "custom", "custom": {}}]}),
    ("bad_value", "tool_choice.function.name", {"tools": [TOOL], "tool_choice": {"type": "function", "name": "g"}}),
    ("bad_value", "max_tokens", {"max_tokens": 0}),
    ("bad_value", "max_completion_tokens", {"max_completion_tokens": 1.5}),
    ("bad_value", "temperature", {"temperature": 3}),
    ("response_format_unsupported", "response_format", {"response_format": {"type": "json_object"}, "tools": [TOOL]}),
    ("response_format_unsupported", "response_format.type", {"response_format": {"type": "grammar"}}),
    (
        "bad_value",
        "response_format.json_schema.schema",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "array"}}}},
    ),
]


@pytest.mark.parametrize(("code", "param", "body"), REFUSED, ids=lambda case: str(case)[:40])
def test_refusal_has_the_code_of_its_fault(code: str, param: str, body: dict[str, Any]) -> None:
    with pytest.raises(AnexError) as refused:
        read(**body)
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, code, param)
    assert "body." not in refused.value.message


def test_what_is_not_applied_is_named_and_what_changes_nothing_is_not() -> None:
    asked = read(
        n=3, logit_bias={"1": 1}, user="u", store=False, seed=None, stream=True, stream_options={"include_cost": True}
    )
    assert asked.ignored == ("n", "logit_bias", "stream_options.include_cost")
    asked = read("smollm2-135m-instruct", reasoning_effort="high", top_logprobs=2, logprobs=True, tool_choice="auto")
    assert "reasoning_effort" in asked.ignored
    assert not asked.thinks
    with pytest.raises(AnexError) as refused:
        read("smollm2-135m-instruct", tools=[TOOL])
    assert refused.value.code == "tools_unsupported"


def test_caps_only_lower_the_models() -> None:
    assert sent(max_tokens=1_000_000)["max_tokens"] == 4096
    assert sent(max_tokens=100, max_completion_tokens=50)["max_tokens"] == 50


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("none", None),
        ("minimal", "low"),
        ("light", "low"),
        ("balanced", "medium"),
        ("high", "medium"),
        ("max", "xhigh"),
    ],
)
def test_each_word_for_effort_is_the_models_nearest_level(word: str, level: str | None) -> None:
    told = sent("qwen3.8-27b", reasoning_effort=word)["chat_template_kwargs"]
    assert told == ({"enable_thinking": True, "reasoning_effort": level} if level else {"enable_thinking": False})


@pytest.mark.parametrize(
    ("name", "readings"),
    [
        ("m", ["m"]),
        ("m-fast", ["m-fast", "m"]),
        ("m-thinking-high-fast", ["m-thinking-high-fast", "m-thinking-high", "m"]),
        ("m-fast-thinking-max", ["m-fast-thinking-max", "m-fast"]),
        ("m-thinking-deep", ["m-thinking-deep"]),
        ("-fast", ["-fast"]),
    ],
)
def test_name_of_a_model_may_mean_any_that_it_extends(name: str, readings: list[str]) -> None:
    assert list(model_names.readings(name)) == readings


def test_level_behind_a_name_is_one_of_the_model_that_was_found() -> None:
    named = "m-thinking-high-fast"
    assert [model_names.level(named, model) for model in ("m", "m-thinking-high", named, "other")] == [
        "high",
        None,
        None,
        None,
    ]


def test_thinking_sent_back_is_kept_for_the_question_that_is_being_answered() -> None:
    call = {"id": "call_123456", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"}
    result = {"role": "tool", "tool_call_id": "call_123456", "content": "1"}
    messages = sent(messages=[*HI, turn, result, *HI, turn, result])["messages"]
    assert ["reasoning_content" in message for message in messages] == [False] * 4 + [True, False]


def test_custom_tools_are_functions_of_one_string_in_every_spelling() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
    flat = {"type": "custom", "name": "g", "format": grammar}
    inner = {"type": "custom", "custom": {"name": "h", "format": {"type": "grammar", "grammar": grammar}}}
    asked = read(tools=[CUSTOM, flat, inner, TOOL], tool_choice={"type": "custom", "custom": {"name": "sql"}})
    functions = [tool["function"] for tool in asked.use.tools]
    assert asked.use.custom == {"sql", "g", "h"}
    assert (asked.use.choice, asked.use.name) == ("named", "sql")
    assert functions[0]["description"] == "Runs SQL."
    assert functions[1]["description"] == functions[2]["description"]
    assert "start: WORD" in functions[1]["description"]
    assert {tuple(each["parameters"]["properties"]) for each in functions[:3]} == {("input",)}
    called = {"id": "call_123456", "type": "custom", "custom": {"name": "sql", "input": 'say "a"'}}
    message = sent(messages=[*HI, {"role": "assistant", "tool_calls": [called]}])["messages"][1]
    assert message["tool_calls"][0]["function"] == {"name": "sql", "arguments": '{"input":"say \\"a\\""}'}


@pytest.mark.parametrize(
    ("sound", "unsound"),
    [
        ({"description": "x" * 16_000}, {"description": "x" * 16_384}),
        (nested(30), nested(40)),
        ({"properties": {"pattern": {"type": "string"}}}, {"properties": {"a": {"pattern": "a+"}}}),
        ({"properties": {"a": {"maxItems": 1024}}}, {"properties": {"a": {"anyOf": [{"minLength": 1025}]}}}),
        ({"enum": [{"pattern": "a", "maxItems": 9999}]}, {"$defs": {"a": {"patternProperties": {}}}}),
    ],
)
def test_schemas_that_are_compiled_are_bounded(sound: dict[str, Any], unsound: dict[str, Any]) -> None:
    read(tools=[function("f", **unsound)])
    read(tools=[function("f", **sound), function("g", **unsound)], tool_choice={"type": "function", "name": "f"})
    read(tools=[function("f", **sound)], tool_choice="required")
    with pytest.raises(AnexError, match="parameters") as refused:
        read(tools=[function("f", **unsound)], tool_choice="required")
    assert (refused.value.code, refused.value.param) == ("bad_value", "tools[0].function.parameters")
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", **unsound}}}
    with pytest.raises(AnexError, match="schema"):
        read(response_format=form)


def test_schemas_are_bounded_together_too() -> None:
    many = [function(f"f{index}", description="x" * 16_000) for index in range(5)]
    read(tools=many[:4], tool_choice="required")
    with pytest.raises(AnexError) as refused:
        read(tools=many, tool_choice="required")
    assert refused.value.param == "tools[4].function.parameters"


def test_media_comes_by_url_alone() -> None:
    def picture(url: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]

    assert read("scripted-media", messages=picture("https://a.example/a.png")).media
    with pytest.raises(AnexError) as refused:
        read("scripted-media", messages=picture("data:image/png;base64,iVBORw0KGgo="))
    assert (refused.value.code, refused.value.param) == ("bad_value", "messages[0].content[0]")
    with pytest.raises(AnexError) as refused:
        read("scripted-media", messages=picture("http://a.example/a.png"))
    assert refused.value.message.endswith("image_url.url must be an https:// URL")


def test_embeddings_take_more_texts_and_no_token_ids() -> None:
    model = model_named("scripted-embed")
    asked = embedding_request.read({"input": ["a"] * 2048, "user": "u", "x": 1}, model=model, profile=OPENAI_V1)
    assert (len(asked.inputs), asked.ignored) == (2048, ("x",))
    with pytest.raises(AnexError) as refused:
        embedding_request.read({"input": [[1, 2]]}, model=model, profile=OPENAI_V1)
    assert (refused.value.status, refused.value.code) == (400, "input_invalid")
