"""Chat answers of the scripted engine: deterministic, bounded, the same streamed or not."""

import json

import pytest

from inference.counting.words import count_messages, count_words

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city", "days"],
}


def text_of(body):
    return body["choices"][0]["message"]["content"]


def test_answer_follows_from_prompt_and_seed(ask):
    assert text_of(ask.chat("hello")) == text_of(ask.chat("hello"))
    assert text_of(ask.chat("hello")) != text_of(ask.chat("hullo"))
    assert (
        text_of(ask.chat("hello", seed=1)) == text_of(ask.chat("hello", seed=1)) != text_of(ask.chat("hello", seed=2))
    )


def test_tokens_are_words_and_punctuation(ask):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi, you!"}, {"type": "text", "text": "there"}]},
    ]
    body = ask.chat("", messages=messages)
    assert body["usage"]["prompt_tokens"] == 2 + (4 + 3) + (4 + 5) == count_messages(messages)
    assert body["usage"]["completion_tokens"] == count_words(text_of(body))
    assert body["usage"]["total_tokens"] == sum(body["usage"][f"{part}_tokens"] for part in ("prompt", "completion"))


@pytest.mark.parametrize(
    ("kind", "tokens"), [("image_url", 64), ("input_audio", 50), ("audio_url", 50), ("video_url", 200), ("file", 100)]
)
def test_media_parts_count_as_tokens(ask, kind, tokens):
    part = {"type": kind, kind: {"url": "data:application/octet-stream;base64,AAAA"}}
    plain = ask.chat("", messages=[{"role": "user", "content": [{"type": "text", "text": "look"}]}])
    seen = ask.chat("", messages=[{"role": "user", "content": [{"type": "text", "text": "look"}, part, part]}])
    assert seen["usage"]["prompt_tokens"] == plain["usage"]["prompt_tokens"] + 2 * tokens


def test_repeated_system_prompt_is_cached(ask):
    system = {"role": "system", "content": "A prompt of six whole words"}
    asked = [[system, {"role": "user", "content": text}] for text in ("first", "second")]
    cached = [ask.chat("", messages=messages)["usage"]["prompt_tokens_details"]["cached_tokens"] for messages in asked]
    assert cached == [0, 4 + 6]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_answer_is_cut_at_the_output_limit(ask, name):
    body = ask.chat("hi [[tokens 300]]", **{name: 5})
    whole = text_of(ask.chat("hi [[tokens 300]]"))
    assert count_words(whole) == 300
    assert text_of(body) == " ".join(whole.split()[:5])
    assert (body["choices"][0]["finish_reason"], body["usage"]["completion_tokens"]) == ("length", 5)


def test_stop_sequence_ends_the_answer_before_it(ask):
    whole = text_of(ask.chat("hello"))
    word = whole.split()[3]
    body = ask.chat("hello", stop=["nowhere-to-be-found", word])
    assert text_of(body) == whole[: whole.index(word)]
    assert body["choices"][0]["finish_reason"] == "stop"


def test_logprobs_cover_the_text_with_the_alternatives_asked_for(ask):
    body = ask.chat("hello", logprobs=True, top_logprobs=3)
    entries = body["choices"][0]["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == text_of(body)
    for entry in entries:
        assert len(entry["top_logprobs"]) == 3
        assert entry["logprob"] <= 0
        assert entry["top_logprobs"][0]["token"] == entry["token"]
    assert ask.chat("hello")["choices"][0]["logprobs"] is None


@pytest.mark.parametrize(
    ("request_fields", "tokens"),
    [
        ({}, 0),
        ({"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "high"}, 0),
        ({"chat_template_kwargs": {"enable_thinking": True}}, 16),
        ({"chat_template_kwargs": {"enable_thinking": True}, "thinking_token_budget": 5}, 5),
        ({"chat_template_kwargs": {"reasoning_effort": "xhigh"}}, 64),
        ({"reasoning_effort": "low"}, 8),
        ({"reasoning_effort": "none"}, 0),
        ({"reasoning_effort": "high", "max_tokens": 10}, 10),
    ],
)
def test_thinking_follows_switch_budget_and_effort(ask, request_fields, tokens):
    body = ask.chat("hello", **request_fields)
    message = body["choices"][0]["message"]
    assert count_words(message.get("reasoning_content", "")) == tokens
    assert body["usage"]["completion_tokens"] == tokens + count_words(message["content"])
    told = body["usage"].get("completion_tokens_details", {})
    assert told.get("reasoning_tokens", 0) == tokens
    if tokens == request_fields.get("max_tokens"):
        assert (message["content"], body["choices"][0]["finish_reason"]) == ("", "length")


def test_length_of_thinking_can_be_directed(ask):
    thinking = ask.chat("[[think 700]] hello", chat_template_kwargs={"enable_thinking": True})["choices"][0]["message"]
    assert count_words(thinking["reasoning_content"]) == 700
    assert "reasoning_content" not in ask.chat("[[think 700]] hello")["choices"][0]["message"]


def test_structured_answer_satisfies_its_schema_with_values_of_the_prompt(ask):
    wanted = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA}}
    assert json.loads(text_of(ask.chat('Plan 3 days in "Lima"', response_format=wanted))) == {"city": "Lima", "days": 3}
    assert isinstance(json.loads(text_of(ask.chat("anything", response_format={"type": "json_object"}))), dict)
    cut = ask.chat('Plan 3 days in "Lima"', response_format=wanted, max_tokens=3)
    assert cut["choices"][0]["finish_reason"] == "length"


def test_schema_written_in_a_prompt_is_satisfied(ask):
    written = f"Answer with JSON of this schema: {json.dumps(SCHEMA, indent=2)} {{no schema}}"
    user = {"role": "user", "content": 'Plan 3 days in "Lima"'}
    told = ask.chat("", messages=[{"role": "system", "content": written}, user])
    asked = ask.chat(f"{user['content']} {written}", response_format={"type": "json_object"})
    assert json.loads(text_of(told)) == json.loads(text_of(asked)) == {"city": "Lima", "days": 3}


def test_keys_named_in_a_prompt_are_those_of_its_json(ask):
    body = ask.chat("Return 'setup' and 'punchline' keys", response_format={"type": "json_object"})
    assert list(json.loads(text_of(body))) == ["setup", "punchline"]


def test_echo_answers_the_prompt(ask):
    assert text_of(ask.chat('say "ünïcødé 😀" [[echo]]')) == 'say "ünïcødé 😀"'


STREAMED = [
    {"messages": [{"role": "user", "content": "hello"}]},
    {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3},
    {"messages": [{"role": "user", "content": "hello"}], "reasoning_effort": "low", "logprobs": True},
    {"messages": [{"role": "user", "content": "line one\n\n  two… 😀  [[echo]]"}]},
    {"messages": [{"role": "user", "content": "slowly [[pace 1]]"}]},
    {"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_object"}},
    {
        "messages": [{"role": "user", "content": 'weather in "Oslo" for 3 days and "Rome" for 4 [[calls 2]]'}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}],
    },
]


@pytest.mark.parametrize("request_fields", STREAMED)
def test_stream_adds_up_to_the_whole_answer(ask, request_fields):
    status, whole = ask.post("/v1/chat/completions", request_fields)
    assert status == 200
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = ask.stream("/v1/chat/completions", {**request_fields, "stream_options": options})
    assert chunks.pop() == {**chunks[-1], "choices": [], "usage": whole["usage"]}
    choices = [chunk["choices"][0] for chunk in chunks]
    message = whole["choices"][0]["message"]
    deltas = [choice["delta"] for choice in choices]
    assert [delta.get("role") for delta in deltas] == ["assistant"] + [None] * (len(deltas) - 1)
    assert "".join(delta.get("content", "") for delta in deltas) == (message["content"] or "")
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == message.get("reasoning_content", "")
    assert joined_calls(deltas) == message.get("tool_calls", [])
    assert [choice["finish_reason"] for choice in choices][-1] == whole["choices"][0]["finish_reason"]
    assert [choice["finish_reason"] for choice in choices][:-1] == [None] * (len(choices) - 1)
    sent = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert sent == sorted(sent)
    assert sent[-1] == whole["usage"]["completion_tokens"]


def joined_calls(deltas):
    """The tool calls that a stream's pieces make."""
    calls = []
    for piece in (piece for delta in deltas for piece in delta.get("tool_calls", [])):
        if "id" in piece:
            assert piece["index"] == len(calls)
            calls.append({**{name: piece[name] for name in ("id", "type")}, "function": dict(piece["function"])})
        else:
            calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return calls


def test_usage_is_streamed_only_when_asked(ask):
    chunks = ask.stream("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}]})
    assert all(chunk["choices"] and "usage" not in chunk for chunk in chunks)


@pytest.mark.parametrize(
    ("request_fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({}, "messages"),
        ({"messages": ["hi"]}, "messages"),
        ({"messages": [{"role": "robot", "content": "hi"}]}, "messages"),
        ({"n": 2}, "n"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_p": -1}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"reasoning_effort": "enormous"}, "reasoning_effort"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": ["x"]}, "tools"),
    ],
)
def test_wrong_request_is_refused_naming_the_field(ask, request_fields, param):
    good = (
        {} if "messages" in request_fields or not request_fields else {"messages": [{"role": "user", "content": "x"}]}
    )
    status, body = ask.post("/v1/chat/completions", {**good, **request_fields})
    assert (status, body["error"]["param"], body["error"]["code"]) == (400, param, 400)


@pytest.mark.parametrize("fields", [{"max_tokens": 32_768}, {"messages": [{"role": "user", "content": "a " * 40_000}]}])
def test_request_beyond_the_context_is_refused_as_vllm_does(ask, fields):
    body = {"messages": [{"role": "user", "content": "hello"}], **fields}
    status, answer = ask.post("/v1/chat/completions", body)
    assert status == 400
    assert "maximum context length is 32768 tokens" in answer["error"]["message"]
    assert "input tokens" in answer["error"]["message"]
