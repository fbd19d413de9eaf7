"""Chat completions, answered whole."""

import openai
import pytest
from asked import HI, says


@pytest.mark.smoke
def test_answer_has_text_and_its_counts_add_up(client, anex) -> None:
    reply = client.chat.completions.create(model=anex.chat, messages=HI, max_tokens=16)
    assert (reply.object, reply.model) == ("chat.completion", anex.chat)
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].message.content
    assert reply.choices[0].finish_reason in ("stop", "length")
    assert 0 < reply.usage.completion_tokens <= 16
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


@pytest.mark.smoke
def test_same_seed_gives_the_same_answer(client, anex) -> None:
    asked = {"model": anex.chat, "messages": HI, "max_tokens": 12, "temperature": 0, "seed": 7}
    texts = {client.chat.completions.create(**asked).choices[0].message.content for _ in range(2)}
    assert len(texts) == 1


def test_every_parameter_is_taken(client, anex) -> None:
    reply = client.chat.completions.create(
        model=anex.chat,
        messages=HI,
        temperature=0.5,
        top_p=0.9,
        max_completion_tokens=30,
        stop=["\n\n", "never"],
        seed=1,
        frequency_penalty=-2,
        presence_penalty=2,
        logprobs=True,
        top_logprobs=2,
        n=1,
        response_format={"type": "text"},
        tools=[],
        tool_choice="auto",
        parallel_tool_calls=True,
        reasoning_effort="none",
        # These leave the answer as it is.
        user="u",
        store=False,
        metadata={"a": "b"},
        service_tier="auto",
        prompt_cache_key="k",
        safety_identifier="s",
        extra_body={
            "top_k": 0,
            "min_p": 0,
            "repetition_penalty": 1.1,
            "chat_template_kwargs": {"enable_thinking": False},
            "provider": {"order": ["anex"]},
            "models": ["other"],
            "route": "fallback",
            "transforms": [],
            "plugins": [],
            "usage": {"include": True},
            "structured_outputs": True,
        },
    )
    assert reply.choices[0].message.content


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 2.1),
        ("temperature", "warm"),
        ("top_p", -0.1),
        ("max_tokens", 0),
        ("max_completion_tokens", 40_000),
        ("stop", ["a"] * 5),
        ("seed", 1.5),
        ("frequency_penalty", 3),
        ("presence_penalty", -3),
        ("top_logprobs", 21),
        ("top_k", -1),
        ("min_p", 2),
        ("repetition_penalty", 0),
        ("n", 2),
        ("response_format", {"type": "xml"}),
        ("reasoning_effort", "immense"),
        ("logit_bias", {"1": 1}),
        ("modalities", ["text", "audio"]),
        ("functions", [{"name": "f"}]),
        ("ignore_eos", True),
        ("tool_choice", "required"),
    ],
)
def test_what_is_out_of_range_or_unknown_is_named(client, anex, name: str, value: object) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=anex.chat, messages=HI, extra_body={name: value})
    assert refused.value.param.partition(".")[0] == name
    assert refused.value.code == "invalid_request"
    assert name in refused.value.message


def test_every_role_and_form_of_content_is_taken(client, anex) -> None:
    call = {"id": "call_123456789", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": "Hi.", "name": "ada"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_123456789", "content": "1"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_123456789", "content": [{"type": "text", "text": "2"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Three."}], "refusal": None},
        {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
    ]
    assert client.chat.completions.create(model=anex.chat, messages=history).choices[0].message.content
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=anex.chat, messages=[{"role": "robot", "content": "Hi."}])
    assert refused.value.param == "messages[0].role"
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=anex.chat, messages=[{"role": "user", "content": 1}])
    assert refused.value.param == "messages[0].content"
    assert "messages[0].content must be a string or an array of content parts" in refused.value.message


@pytest.mark.smoke
def test_log_probabilities_match_the_text_token_by_token(client, anex) -> None:
    reply = client.chat.completions.create(
        model=anex.chat, messages=HI, max_tokens=12, temperature=0, logprobs=True, top_logprobs=3
    )
    choice = reply.choices[0]
    assert "".join(entry.token for entry in choice.logprobs.content) == choice.message.content
    assert all(len(entry.top_logprobs) == 3 and entry.logprob <= 0 for entry in choice.logprobs.content)
    without = client.chat.completions.create(model=anex.chat, messages=HI, max_tokens=4)
    assert without.choices[0].logprobs is None
    only = client.chat.completions.create(model=anex.chat, messages=HI, max_tokens=4, logprobs=True)
    assert [entry.top_logprobs for entry in only.choices[0].logprobs.content] == [[]] * only.usage.completion_tokens


def test_thinking_is_told_apart_from_the_answer(client, anex) -> None:
    asked = {"model": anex.chat, "messages": says("Think about it."), "max_tokens": 200}
    told = client.chat.completions.create(**asked, reasoning_effort="low")
    thought = told.choices[0].message.reasoning_content
    assert thought
    assert thought not in told.choices[0].message.content
    capped = client.chat.completions.create(**asked, extra_body={"reasoning": {"enabled": True, "max_tokens": 3}})
    assert 0 < len(capped.choices[0].message.reasoning_content.split()) <= 3
    hidden = client.chat.completions.create(**asked, extra_body={"reasoning": {"effort": "low", "exclude": True}})
    assert getattr(hidden.choices[0].message, "reasoning_content", None) is None
    assert hidden.usage.completion_tokens == told.usage.completion_tokens
    off = client.chat.completions.create(**asked, extra_body={"reasoning": {"enabled": False}})
    assert getattr(off.choices[0].message, "reasoning_content", None) is None
    assert off.usage.completion_tokens < told.usage.completion_tokens
    with pytest.raises(openai.BadRequestError, match=r"(?s)logprobs.*reasoning|reasoning.*logprobs"):
        client.chat.completions.create(**asked, logprobs=True, extra_body={"reasoning": {"exclude": True}})


def test_answer_ends_before_a_stop_sequence_and_at_the_cap(client, anex) -> None:
    asked = {"model": anex.chat, "messages": HI, "seed": 3}
    text = client.chat.completions.create(**asked).choices[0].message.content
    word = text.split()[2]
    stopped = client.chat.completions.create(**asked, stop=word).choices[0]
    assert (stopped.message.content, stopped.finish_reason) == (text[: text.index(word)], "stop")
    cut = client.chat.completions.create(**asked, max_tokens=2)
    assert (cut.choices[0].finish_reason, cut.usage.completion_tokens) == ("length", 2)


@pytest.mark.smoke
def test_prompt_past_the_context_has_a_code_of_its_own(client, anex) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=anex.chat, messages=says("word " * 40_000))
    assert refused.value.code == "context_length_exceeded"


def test_answer_with_its_thinking_can_be_sent_back(client, anex) -> None:
    asked = {"model": anex.chat, "reasoning_effort": "low"}
    first = client.chat.completions.create(**asked, messages=HI).choices[0].message
    assert first.reasoning_content
    for given in (first, first.model_dump(), first.model_dump(exclude_none=True)):
        again = client.chat.completions.create(**asked, messages=[*HI, given, *says("And another?")])
        assert again.choices[0].message.content


@pytest.mark.parametrize(
    "text", ["Grüße 👩‍👩‍👧 e\u0301 \u2028 \U0001f600", '"quoted" \\n \t\n\n end', "<b>&amp;</b>\u0000."]
)
def test_any_text_comes_back_as_it_was(client, anex, text) -> None:
    asked = {"model": anex.chat, "messages": says(f"[[echo]] {text}")}
    whole = client.chat.completions.create(**asked).choices[0].message.content
    pieces = [chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**asked, stream=True)]
    assert "".join(pieces) == whole
    assert whole == " ".join(text.split())
