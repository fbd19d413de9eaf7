"""Chat completions, streamed: by events as they come, and by the client's own helper."""

import openai
import pytest
from asked import HI, says


@pytest.mark.smoke
def test_stream_is_the_whole_answer_in_pieces(client, anex) -> None:
    asked = {"model": anex.chat, "messages": HI, "max_tokens": 12, "temperature": 0, "seed": 2}
    whole = client.chat.completions.create(**asked)
    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.choices[0].message.content
    assert len({chunk.id for chunk in chunks}) == len({chunk.created for chunk in chunks}) == 1
    assert {chunk.model for chunk in chunks} == {anex.chat}
    assert [chunk.choices[0].delta.role for chunk in chunks if chunk.choices[0].delta.role] == ["assistant"]
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason]
    assert reasons == [whole.choices[0].finish_reason]
    assert not any(chunk.usage for chunk in chunks)


@pytest.mark.smoke
def test_usage_comes_last_and_only_when_asked_for(client, anex) -> None:
    stream = client.chat.completions.create(
        model=anex.chat, messages=HI, max_tokens=8, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = list(stream)
    assert last.choices == []
    assert 0 < last.usage.completion_tokens <= 8
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


@pytest.mark.smoke
def test_helper_gathers_the_answer(client, anex) -> None:
    asked = {"model": anex.chat, "messages": HI, "max_tokens": 12}
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        gathered = stream.current_completion_snapshot
    assert "".join(deltas) == gathered.choices[0].message.content
    assert gathered.usage.total_tokens


def test_thinking_is_streamed_before_the_answer(client, anex) -> None:
    stream = client.chat.completions.create(
        model=anex.chat, messages=says("Think."), max_tokens=200, reasoning_effort="low", stream=True
    )
    kinds = []
    for chunk in stream:
        delta = chunk.choices[0].delta
        kinds += ["thought"] if getattr(delta, "reasoning_content", None) else []
        kinds += ["text"] if delta.content else []
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {"thought", "text"}


def test_log_probabilities_come_with_their_pieces(client, anex) -> None:
    stream = client.chat.completions.create(
        model=anex.chat, messages=HI, max_tokens=8, logprobs=True, top_logprobs=1, stream=True
    )
    for chunk in stream:
        choice = chunk.choices[0]
        tokens = [entry.token for entry in choice.logprobs.content] if choice.logprobs else []
        assert "".join(tokens) == (choice.delta.content or "")


def test_silence_longer_than_ten_seconds_is_survived(anex) -> None:
    with openai.OpenAI(base_url=anex.base_url, api_key=anex.key, max_retries=0, timeout=10.5) as patient:
        chunks = list(
            patient.chat.completions.create(model=anex.chat, messages=says("[[sleep 11000]] Hi."), stream=True)
        )
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_answer_that_breaks_off_raises(client, anex) -> None:
    received = []
    with pytest.raises(openai.APIError) as broken:
        for chunk in client.chat.completions.create(
            model=anex.chat, messages=says("[[tokens 30]] [[cut]]"), stream=True
        ):
            received.append(chunk)
    assert received
    assert broken.value.code == "upstream_error"


def test_invalid_request_for_a_stream_is_refused_before_it(client, anex) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=anex.chat, messages=[], stream=True)
    assert refused.value.param == "messages"


def test_stream_that_is_closed_leaves_the_client_usable(client, anex) -> None:
    patient = client.with_options(max_retries=8)
    for _ in range(10):
        stream = patient.chat.completions.create(
            model=anex.chat, messages=says("[[tokens 200]] [[pace 20]]"), stream=True
        )
        next(iter(stream))
        stream.close()
    assert patient.chat.completions.create(model=anex.chat, messages=HI).choices
