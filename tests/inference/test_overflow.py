"""A refusal for want of room says the context and the counts, whichever server it came from."""

import pytest

from inference.backends.overflow import read_overflow

VLLM = (
    "This model's maximum context length is 2048 tokens. However, you requested 100 output tokens and your prompt "
    "contains at least 1949 input tokens, for a total of at least 2049 tokens. Please reduce the length."
)
SPLIT = (
    "This model's maximum context length is 2048 tokens. However, you requested 2148 tokens (48 in the messages, 2100 "
    "in the completion). Please reduce the length of the messages or completion."
)

VLLM_032 = (
    "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, "
    "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. "
    "(parameter=input_tokens, value=2049)"
)
UNCOUNTED = (
    "This model's maximum context length is 256 tokens. However, your prompt contains 10000 characters (more than 4608 "
    "characters, which is the upper bound for 256 input tokens). Please reduce the length of the input prompt."
)
LONG_CAP = "max_tokens=3000 cannot be greater than max_model_len=2048. Please request fewer output tokens."


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"message": VLLM_032}, ["2048 tokens. The messages of this request have at least 2049. "]),
        ({"message": UNCOUNTED}, ["256 tokens. The messages of this request have at least 257. "]),
        ({"message": LONG_CAP}, ["context length is 2048 tokens. Shorten"]),
        ({"message": VLLM}, ["2048", "at least 2049", "at least 1949 in the messages", "100 in the completion"]),
        ({"message": SPLIT}, ["2048", "asks for 2148", "48 in the messages", "2100 in the completion"]),
        ({"message": "Input exceeds the maximum model length"}, ["32768"]),
        ({"type": "exceed_context_size_error", "n_prompt_tokens": 3000, "n_ctx": 2048}, ["2048", "have 3000"]),
    ],
)
def test_counts_are_told_where_the_server_tells_them(body: dict[str, object], words: list[str]) -> None:
    refusal = read_overflow(400, {"error": body}, context=32768)
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, "context_length_exceeded")
    assert [word for word in words if word not in refusal.message] == []
    assert refusal.message.startswith("This model's maximum context length is ")


def test_refusal_names_the_field_that_is_too_long() -> None:
    refusal = read_overflow(400, {"error": {"message": UNCOUNTED}}, context=256, field="input")
    assert refusal is not None
    assert refusal.param == "input"
    assert refusal.message.endswith("An input of this request has at least 257. Shorten it.")


@pytest.mark.parametrize("body", [{}, {"error": None}, {"error": {"message": "bad tool"}}, {"error": {"message": 5}}])
def test_another_refusal_stays_another(body: dict[str, object]) -> None:
    assert read_overflow(400, body, context=2048) is None
