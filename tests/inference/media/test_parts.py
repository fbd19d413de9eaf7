"""What a content part may be, and the sentence for each thing it may not (reference 001, the input file)."""

from base64 import b64encode
from typing import Any

import pytest

from inference.catalogue.schema import Model
from inference.media.parts import MediaPart, TextPart, fetched, read_part, upstream_part
from inference.refusals import RowError
from tests.inference.media import clips
from tests.inference.media.clips import by_url, data_uri, input_audio
from tests.inference.media.models import EMBEDDER, GEMMA, NEMOTRON, QWEN, QWEN_IMAGES, TEXT_ONLY

AT = "body.messages[0].content[2]"
WAV = clips.audio("wav", 0.1)


def refused(part: Any, model: Model = NEMOTRON) -> RowError:
    with pytest.raises(RowError) as refusal:
        read_part(part, at=AT, model=model)
    return refusal.value


def test_text_is_text() -> None:
    assert read_part({"type": "text", "text": ""}, at=AT, model=TEXT_ONLY) == TextPart("")


def test_a_declared_length_is_kept_in_milliseconds_rounded_up() -> None:
    part = read_part(by_url("audio", "https://a.example/x.mp3", duration_seconds=42.0001), at=AT, model=NEMOTRON)
    assert part == MediaPart(
        at=AT, type="audio_url", modality="audio", format="mp3", url="https://a.example/x.mp3", declared_ms=42_001
    )


def test_unused_fields_are_ignored() -> None:
    part = by_url("image", "https://a.example/x.png", detail="high", duration_seconds="long") | {"cache": True}
    assert isinstance(read_part(part, at=AT, model=NEMOTRON), MediaPart)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("file", "file"), (None, "(none)"), (7, "(none)"), ("x" * 99, "x" * 64), ("input_video", "input_video")],
)
def test_an_unknown_type_names_the_known_ones(kind: Any, shown: str) -> None:
    error = refused({"type": kind})
    assert (error.code, error.param) == ("unknown_part", f"{AT}.type")
    assert error.message == (
        f"unsupported content part type '{shown}': supported types are "
        "text, image_url, input_audio, audio_url, video_url"
    )


@pytest.mark.parametrize(
    ("part", "model", "modality"),
    [
        (by_url("image", "x"), TEXT_ONLY, "image"),
        (by_url("video", "x"), QWEN_IMAGES, "video"),
        (by_url("audio", "x"), QWEN, "audio"),
        (input_audio("wav", WAV), EMBEDDER, "audio"),
    ],
)
def test_a_modality_the_model_lacks_is_named_with_the_model(part: Any, model: Model, modality: str) -> None:
    error = refused(part, model)
    assert error.code == "no_encoder"
    assert f"'{model.id}'" in error.message
    assert modality in error.message


@pytest.mark.parametrize(
    ("part", "code", "param"),
    [
        ("text", "wrong_type", ""),
        ({"type": "text"}, "missing", ".text"),
        ({"type": "text", "text": 1}, "wrong_type", ".text"),
        ({"type": "image_url"}, "missing", ".image_url"),
        ({"type": "image_url", "image_url": "https://a.example/x.png"}, "wrong_type", ".image_url"),
        ({"type": "image_url", "image_url": {}}, "missing", ".image_url.url"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA"}}, "missing", ".input_audio.format"),
        ({"type": "input_audio", "input_audio": {"format": "wav"}}, "missing", ".input_audio.data"),
        (by_url("image", ""), "invalid_media_url", ".image_url.url"),
        (by_url("image", "http://a.example/x.png"), "invalid_media_url", ".image_url.url"),
        (by_url("image", "file:///etc/passwd"), "invalid_media_url", ".image_url.url"),
        (by_url("image", "https://"), "invalid_media_url", ".image_url.url"),
        (by_url("image", "https://["), "invalid_media_url", ".image_url.url"),
        (by_url("image", "data:image/png,AAAA"), "not_base64_uri", ".image_url.url"),
        (by_url("image", "data:"), "not_base64_uri", ".image_url.url"),
        (by_url("image", "data:" + "a" * 300 + ";base64,AAAA"), "not_base64_uri", ".image_url.url"),
        (by_url("image", "data:image/png;base64,"), "empty", ".image_url.url"),
        (by_url("image", "data:image/png;base64,AAA"), "invalid_base64", ".image_url.url"),
        (by_url("image", "data:image/png;base64,A-_A"), "invalid_base64", ".image_url.url"),
        (by_url("image", "data:image/png;base64,AA\nA"), "invalid_base64", ".image_url.url"),
        (by_url("image", "data:image/png;base64,AAA=AAAA"), "invalid_base64", ".image_url.url"),
        (by_url("image", "data:image/png;base64,ÄÄÄÄ"), "invalid_base64", ".image_url.url"),
        (by_url("image", "data:image/png;base64,===="), "invalid_base64", ".image_url.url"),
    ],
)
def test_a_malformed_part_names_its_field(part: Any, code: str, param: str) -> None:
    error = refused(part)
    assert (error.code, error.param) == (code, AT + param)


def test_input_audio_is_bare_base64() -> None:
    part = {"type": "input_audio", "input_audio": {"data": data_uri("wav", WAV), "format": "wav"}}
    assert refused(part).code == "data_prefix"


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), True, "42", [42]])
@pytest.mark.parametrize("kind", ["audio", "video"])
def test_a_declared_length_is_a_number_above_zero(seconds: Any, kind: str) -> None:
    error = refused(by_url(kind, "https://a.example/x", duration_seconds=seconds))
    assert (error.code, error.param) == ("invalid_duration", f"{AT}.{kind}_url.duration_seconds")


@pytest.mark.parametrize(
    ("kind", "model", "limit", "item"),
    [("image", GEMMA, 20, "image"), ("audio", GEMMA, 20, "audio file"), ("video", QWEN, 150, "video file")],
)
def test_an_inline_item_over_its_size_is_refused(kind: str, model: Model, limit: int, item: str) -> None:
    """A megabyte is a million bytes; the size is seen before anything is decoded."""
    characters = -(-(limit * 1_000_000 + 1) // 3) * 4
    error = refused(by_url(kind, "data:;base64," + "A" * characters), model)
    assert error.message == f"an embedded {item} exceeds the size limit (max {limit} MB)"


def test_an_inline_item_of_exactly_its_size_is_taken() -> None:
    png = clips.picture("png")
    text = b64encode(png + bytes(20_000_000 - len(png))).decode()
    part = read_part(by_url("image", f"data:image/png;base64,{text}"), at=AT, model=GEMMA)
    assert isinstance(part, MediaPart)
    assert part.data
    assert part.data.size == 20_000_000
    assert part.data.read(19_999_999, 10) == b"\0"


def test_a_part_is_sent_on_with_its_bytes_and_one_spelling_of_its_type() -> None:
    def taken(part: Any) -> MediaPart:
        found = read_part(part, at=AT, model=NEMOTRON)
        assert isinstance(found, MediaPart)
        return found

    def sent(part: Any) -> Any:
        return upstream_part(taken(part))

    png, text = clips.picture("png"), b64encode(WAV).decode()
    assert sent(by_url("image", data_uri("png", png), detail="low")) == by_url("image", data_uri("png", png))
    assert sent(by_url("audio", f"DATA:audio/x-wav;codecs=1;base64,{text}")) == by_url("audio", data_uri("wav", WAV))
    assert sent(input_audio("WAV", WAV, duration_seconds=9)) == input_audio("wav", WAV)
    hosted = fetched(taken(by_url("image", "https://a.example/x")), png, format="png")
    assert upstream_part(hosted) == by_url("image", data_uri("png", png))
