"""A row with media: its text is counted without its bytes, its items by the catalogue, and both are sent in order."""

import json
from typing import Any

import orjson
import pytest

from anex.core.usage import Usage
from inference import tokens
from inference.catalogue import get
from inference.catalogue.schema import Model
from inference.counting import server
from inference.refusals import RowError
from inference.requests.rows import Row, RowOptions, input_bound, parse, upstream_body
from inference.tokens import MARK_TOKENS, count_rows
from tests.inference.media import clips
from tests.inference.media.clips import by_url, data_uri, input_audio
from tests.inference.media.models import GEMMA, NEMOTRON, QWEN

PNG, MP4, WAV = clips.picture("png"), clips.video("mp4"), clips.audio("wav")
PARTS = [
    {"type": "text", "text": "one"},
    by_url("image", data_uri("png", PNG)),
    {"type": "text", "text": "two"},
    by_url("video", data_uri("mp4", MP4)),
]


def model_named(model_id: str) -> Model:
    model = get(model_id)
    assert model is not None
    return model


def chat(parts: list[Any], model: Model = QWEN, options: RowOptions | None = None, custom_id: str = "x") -> Row:
    body = {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "And?"}]}
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return parse(orjson.dumps(line), model=model, options=options or RowOptions())


def embedding(parts: list[Any]) -> Row:
    line = {"custom_id": "x", "method": "POST", "url": "/v1/embeddings", "body": {"input": parts}}
    return parse(json.dumps(line).encode(), model=model_named("scripted-embed"), options=RowOptions())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a server is asked to tokenize; it finds a thousand tokens in every row."""
    questions: list[dict[str, Any]] = []

    def count(_: Any, rows: list[Row], *, model_id: str) -> list[int]:
        for row in rows:
            questions.extend(server._questions(row))
        return [1000] * len(rows)

    monkeypatch.setattr(tokens.server, "count", count)
    return questions


def count_one(row: Row, model: Model, options: RowOptions | None = None) -> Usage | RowError:
    (found,) = count_rows(model, [row], options=options or RowOptions(), counting_server=object())  # type: ignore[arg-type]
    return found


def test_the_server_counts_the_text_alone(asked: list[dict[str, Any]]) -> None:
    found = count_one(chat(PARTS), QWEN)
    assert found == Usage(input_tokens=1000 + 2 * MARK_TOKENS + 200 + 3 * 105, images=1, clips=1, video_ms=1_500)
    texts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    messages = [{"role": "user", "content": texts}, {"role": "assistant", "content": "And?"}]
    assert asked == [{"messages": messages, "add_generation_prompt": True, "chat_template_kwargs": {}}]


def test_a_message_of_media_alone_is_counted_as_empty_text(asked: list[dict[str, Any]]) -> None:
    count_one(chat([PARTS[1]]), QWEN)
    assert asked[0]["messages"][0] == {"role": "user", "content": ""}


def test_an_embedding_with_media_is_counted_as_the_chat_it_becomes() -> None:
    row, model = embedding(PARTS), model_named("scripted-embed")
    assert count_one(row, model) == Usage(input_tokens=6 + 2 + 64 + 3 * 81, images=1, clips=1, video_ms=1_500)
    assert server._questions(tokens._without_media(row)) == [
        {"messages": [{"role": "user", "content": [PARTS[0], PARTS[2]]}], "add_generation_prompt": False}
    ]


def test_what_is_sent_keeps_the_order_of_parts() -> None:
    row, model = embedding(PARTS), model_named("scripted-embed")
    sent = orjson.loads(upstream_body(row, served_name="s", model=model, options=RowOptions(), max_tokens=1))
    assert sent == {"model": "s", "messages": [{"role": "user", "content": PARTS}], "encoding_format": "float"}
    body = orjson.loads(upstream_body(chat(PARTS), served_name="s", model=QWEN, options=RowOptions(), max_tokens=1))
    assert body["messages"][0]["content"] == PARTS


@pytest.mark.parametrize(
    ("model", "fps", "parts", "told"),
    [
        (QWEN, 5, PARTS, 5),
        (NEMOTRON, 0.5, PARTS, 0.5),
        (QWEN, None, PARTS, 1),
        (QWEN, 1, PARTS, 1),
        (NEMOTRON, None, PARTS, 2),
        (QWEN, 5, PARTS[:3], None),
        (GEMMA, None, PARTS, None),
    ],
)
def test_vllm_is_told_the_sampling_rate_on_models_that_take_one(
    model: Model, fps: float | None, parts: Any, told: Any
) -> None:
    options = RowOptions(video_fps=fps)
    row = chat(parts, model)
    body = orjson.loads(upstream_body(row, served_name="s", model=model, options=options, max_tokens=1))
    assert body.get("mm_processor_kwargs") == (told and {"fps": told, "do_sample_frames": True})
    assert ("media_io_kwargs" in body) == bool(told)


def test_the_context_is_that_of_what_the_row_carries(asked: list[dict[str, Any]]) -> None:
    assert input_bound(chat(PARTS), QWEN) == 131_072
    assert input_bound(chat(PARTS[:1]), QWEN) == 32_768
    long = count_one(chat([by_url("audio", "https://a.example/x.mp3", duration_seconds=2400)] * 2, NEMOTRON), NEMOTRON)
    assert isinstance(long, RowError)
    assert "61,008 input tokens (including media) exceeds the 32,768-token maximum" in long.message
    assert "with audio input" in long.message


def test_a_long_custom_id_is_quoted_by_its_beginning(asked: list[dict[str, Any]]) -> None:
    parts = [input_audio("wav", WAV, duration_seconds=31)]
    refusal = count_one(chat(parts, GEMMA, custom_id="y" * 1000), GEMMA)
    assert isinstance(refusal, RowError)
    assert refusal.message.startswith(f"Row '{'y' * 64}…': audio duration 31s exceeds the 30s maximum")
