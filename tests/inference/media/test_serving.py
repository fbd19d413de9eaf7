"""What is seen once a clip's bytes are at hand fails its row: media_unreadable, media_length_mismatch (003)."""

from typing import Any

import pytest

from inference.catalogue.schema import Model
from inference.media.lengths import Measured
from inference.media.serving import damage, media_fault
from inference.refusals import RowError
from tests.inference.media import clips
from tests.inference.media.models import GEMMA, NEMOTRON, QWEN

AT = "body.messages[0].content[0]"


def fault(
    data: bytes, format: str, model: Model = NEMOTRON, *, video_fps: float | None = None, **priced: Any
) -> RowError | None:
    modality: Any = clips.modality_of(format)
    return media_fault(
        Measured(modality=modality, **priced),
        lambda at, size: data[at : at + size],
        len(data),
        format=format,
        at=AT,
        model=model,
        video_fps=video_fps,
    )


@pytest.mark.parametrize("format", [*clips.AUDIO, *clips.VIDEO, *clips.IMAGES])
def test_what_is_as_it_was_priced_is_served(format: str) -> None:
    assert fault(clips.make(format), format, milliseconds=1500) is None


@pytest.mark.parametrize("format", [*clips.AUDIO, *clips.VIDEO, *clips.IMAGES])
def test_what_cannot_be_read_is_unreadable(format: str) -> None:
    error = fault(b"<html>Not found</html>" * 20, format, milliseconds=1500)
    assert error
    assert (error.code, error.param) == ("media_unreadable", AT)


def test_a_video_without_a_picture_is_unreadable() -> None:
    error = fault(clips.audio("m4a"), "mp4", milliseconds=1500)
    assert error
    assert error.message == f"{AT} cannot be read: it holds no video as mp4"


def test_a_clip_longer_than_it_was_priced_is_a_mismatch() -> None:
    long = clips.video("mp4", frames=40)
    assert fault(long, "mp4", milliseconds=3_500) is None
    error = fault(long, "mp4", milliseconds=2_000)
    assert error
    assert (error.code, error.param) == ("media_length_mismatch", AT)
    assert "is 4 s long, but was priced as 2 s" in error.message


def test_a_clip_priced_at_the_ceiling_may_be_that_long() -> None:
    assert fault(clips.audio("wav", 30), "wav", GEMMA) is None
    assert getattr(fault(clips.audio("wav", 32), "wav", GEMMA), "code", "") == "media_length_mismatch"
    slow = clips.video("mp4", frames=40, fps=1)
    assert fault(slow, "mp4", QWEN) is None
    assert getattr(fault(slow, "mp4", QWEN, video_fps=20), "code", "") == "media_length_mismatch"


def test_a_clip_of_one_frame_is_unreadable() -> None:
    error = fault(clips.video("mp4", frames=1, fps=1), "mp4", milliseconds=1000)
    assert error
    assert "1 of the 2 frames" in error.message


def test_a_picture_of_too_many_pixels_is_unreadable() -> None:
    data = bytearray(clips.picture("bmp"))
    data[18:26] = (40_000).to_bytes(4, "little") * 2
    error = fault(bytes(data), "bmp")
    assert error
    assert "40000 × 40000 pixels" in error.message


def damaged(data: bytes, format: str) -> RowError | None:
    return damage(lambda at, size: data[at : at + size], len(data), format=format, at=AT)


@pytest.mark.parametrize("format", clips.IMAGES)
def test_a_picture_cut_in_its_middle_is_seen_once_it_is_decoded(format: str) -> None:
    whole = clips.picture(format, 300, 200)
    cut = whole[: len(whole) * 2 // 3]
    assert damaged(whole, format) is None
    error = damaged(cut, format)
    assert error
    assert (error.code, error.param) == ("media_unreadable", AT)


def test_a_picture_of_a_billion_pixels_is_not_begun() -> None:
    assert damaged(clips.picture("gif", 1, 1)[:6] + b"\x00\x7d\x00\x7d" + clips.picture("gif", 1, 1)[10:], "gif")
