"""Chat completions, answered whole."""

import pytest

HI = [{"role": "user", "content": "Name a river."}]


@pytest.mark.smoke
def test_answer_has_text_and_its_counts_add_up(client, anex) -> None:
    reply = client.chat.completions.create(model=anex.chat, messages=HI, max_tokens=16)
    assert (reply.object, reply.model) == ("chat.completion", anex.chat)
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].message.content
    assert reply.choices[0].finish_reason in ("stop", "length")
    assert 0 < reply.usage.completion_tokens <= 16
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
