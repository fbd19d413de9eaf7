"""Tokens, ceilings and sentences of references 001 and 002 for each model that takes media."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.media.lengths import Measured
from inference.media.rates import (
    check_context,
    context_tokens,
    count_media,
    countable,
    frames_of,
    longest_video_ms,
    surplus,
)
from inference.refusals import RowError
from tests.inference.media.models import EMBEDDER, GEMMA, NEMOTRON, QWEN, QWEN_IMAGES, TEXT_ONLY

IMAGE = Measured(modality="image")


def video(seconds: float, **more: Any) -> Measured:
    return Measured(modality="video", milliseconds=round(seconds * 1000), **{"source": "declared", **more})


def audio(seconds: float, **more: Any) -> Measured:
    return Measured(modality="audio", milliseconds=round(seconds * 1000), **{"source": "declared", **more})


def refusal(item: Measured, model: Model, video_fps: float | None = None, row: str = "clip-7") -> str:
    with pytest.raises(RowError) as error:
        count_media([item], model=model, row=row, video_fps=video_fps)
    return error.value.message


@pytest.mark.parametrize(
    ("item", "model", "fps", "tokens"),
    [
        (IMAGE, GEMMA, None, 280),
        (IMAGE, NEMOTRON, None, 3328),
        (IMAGE, QWEN_IMAGES, None, 1280),
        (IMAGE, QWEN, 20, 200),
        (audio(30), GEMMA, None, 750),
        (audio(2400), NEMOTRON, None, 30_000),
        (audio(0.001), NEMOTRON, None, 1),
        (video(60), NEMOTRON, None, 121 * 256),
        (video(60), GEMMA, None, 61 * 74),
        (video(120), QWEN, None, 121 * 105),
        (video(38), QWEN, 20, 761 * 105),
        (video(10), QWEN, 0.1, 2 * 105),
        (video(0.3), QWEN, 10, 4 * 105),
        (video(10.5), EMBEDDER, None, 12 * 81),
    ],
)
def test_items_become_tokens(item: Measured, model: Model, fps: float | None, tokens: int) -> None:
    assert count_media([item], model=model, row="x", video_fps=fps).input_tokens == tokens


def test_a_row_adds_up_its_items() -> None:
    items = [IMAGE, IMAGE, audio(1.5), video(2)]
    assert count_media(items, model=NEMOTRON, row="x") == Usage(
        input_tokens=2 * 3328 + 19 + 5 * 256, images=2, clips=2, video_ms=2000, audio_ms=1500
    )
    assert count_media([], model=TEXT_ONLY, row="x") == Usage()


@pytest.mark.parametrize(
    ("model", "fps", "seconds"),
    [
        *[(QWEN, fps, seconds) for fps, seconds in ((1, 120), (5, 120), (10, 76), (20, 38))],
        *[(NEMOTRON, fps, seconds) for fps, seconds in ((2, 60), (5, 25), (10, 12), (20, 6))],
        (GEMMA, 1, 60),
    ],
)
def test_the_longest_clip_at_a_rate_is_the_references(model: Model, fps: int, seconds: int) -> None:
    assert longest_video_ms(model, Fraction(fps)) // 1000 == seconds


def test_a_clip_is_sampled_at_its_own_rate_at_most() -> None:
    slow = video(45, frame_rate=Fraction(2), frames=90)
    assert count_media([slow], model=QWEN, row="x", video_fps=20).input_tokens == 91 * 105
    assert count_media([slow], model=QWEN, row="x").input_tokens == 46 * 105


def test_a_clip_of_unknown_length_counts_as_the_longest() -> None:
    unknown = Measured(modality="audio")
    assert count_media([unknown], model=NEMOTRON, row="x").audio_ms == 2_400_000
    assert count_media([unknown], model=GEMMA, row="x").audio_ms == 30_000
    clip = Measured(modality="video")
    assert count_media([clip], model=QWEN, row="x").video_ms == 120_000
    assert count_media([clip], model=QWEN, row="x", video_fps=20) == Usage(
        input_tokens=761 * 105, clips=1, video_ms=38_000
    )


def test_the_sentence_for_a_clip_too_long_at_the_requested_rate() -> None:
    assert refusal(video(45), QWEN, 20) == (
        "Row 'clip-7': video is 45 s; at the requested 20 fps the longest clip qwen3.8-27b takes is 38 s. "
        "Shorten the clip or lower video_fps."
    )


def test_a_rate_that_does_not_help_is_not_advised() -> None:
    sentence = "Row 'clip-7': video is 120.5 s; at the requested 5 fps the longest clip qwen3.8-27b takes is 120 s."
    assert refusal(video(120.5), QWEN, 5) == f"{sentence} Shorten the clip."
    sentence = "Row 'clip-7': video is 61 s; at 1 fps the longest clip gemma4-12b takes is 60 s."
    assert refusal(video(61), GEMMA) == f"{sentence} Shorten the clip."
    sentence = "Row 'clip-7': video is 61 s; at 1.5 fps the longest clip nemotron-3-nano-omni-30b takes is 60 s."
    assert refusal(video(61, frame_rate=Fraction(3, 2)), NEMOTRON, 20) == f"{sentence} Shorten the clip."


def test_the_sentence_for_a_clip_that_is_estimated_too_long() -> None:
    assert refusal(video(130, source="estimated"), QWEN) == (
        "Row 'clip-7': video is estimated at 130 s from its size; at 1 fps the longest clip qwen3.8-27b takes is "
        "120 s. Shorten the clip. If it is not that long, state its length in duration_seconds."
    )


def test_the_sentences_for_audio_too_long() -> None:
    assert refusal(audio(45), GEMMA, row="x") == (
        "Row 'x': audio duration 45s exceeds the 30s maximum for model 'gemma4-12b'. Shorten or split this audio input."
    )
    assert refusal(audio(45.5, source="estimated"), GEMMA, row="x") == (
        "Row 'x': audio duration, estimated at 45.5s from its size, exceeds the 30s maximum for model 'gemma4-12b'. "
        "Shorten or split this audio input, or state its length in duration_seconds."
    )


def test_a_clip_of_one_frame_is_refused() -> None:
    sentence = refusal(video(1, frame_rate=Fraction(1), frames=1), QWEN)
    assert sentence.startswith("Row 'clip-7': the video holds 1 of the 2 frames a clip needs.")
    assert count_media([video(1, frames=2)], model=QWEN, row="x").clips == 1


def test_the_sentence_for_a_row_past_the_context() -> None:
    with pytest.raises(RowError) as error:
        check_context(37_500, ["audio", "audio"], model=NEMOTRON, row="x")
    assert error.value.message == (
        "Row 'x' is too long: 37,500 input tokens (including media) exceeds the 32,768-token maximum that model "
        "'nemotron-3-nano-omni-30b' can serve with audio input. Shorten or split this row."
    )
    check_context(32_768, ["audio"], model=NEMOTRON, row="x")


def test_pictures_and_video_widen_the_context_of_one_model() -> None:
    assert context_tokens(QWEN, ["image"]) == context_tokens(QWEN, ["video", "image"]) == 131_072
    assert context_tokens(QWEN, []) == context_tokens(NEMOTRON, ["video"]) == 32_768


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (NEMOTRON, "image audio video"),
        (QWEN, "image video"),
        (QWEN_IMAGES, "image"),
        (EMBEDDER, "video"),
        (TEXT_ONLY, ""),
    ],
)
def test_what_the_references_do_not_price_is_not_countable(model: Model, known: str) -> None:
    assert " ".join(kind for kind in ("image", "audio", "video") if countable(model, kind)) == known


def test_items_past_the_rows_limit_are_told() -> None:
    assert surplus([IMAGE] * 4 + [video(3)], model=EMBEDDER) is None
    told = surplus([IMAGE] * 5, model=EMBEDDER)
    assert told == "the row carries 5 images: model 'qwen3-vl-embedding-2b' takes at most 4"
    told = surplus([video(3)] * 2, model=EMBEDDER)
    assert told == "the row carries 2 video clips: model 'qwen3-vl-embedding-2b' takes at most 1"
    assert surplus([IMAGE] * 50, model=NEMOTRON) is None


@given(
    milliseconds=st.integers(1, 10**9),
    fps=st.fractions(min_value=Fraction(1, 100), max_value=60, max_denominator=1001),
)
def test_frames_are_the_seconds_times_the_rate_rounded_up_and_one(milliseconds: int, fps: Fraction) -> None:
    frames = frames_of(milliseconds, fps)
    assert (frames - 2) * 1000 < milliseconds * fps <= (frames - 1) * 1000


@given(
    milliseconds=st.integers(1, 10**7),
    fps=st.floats(0.01, 20) | st.none(),
    own=st.none() | st.fractions(min_value=Fraction(1, 10), max_value=240, max_denominator=1001),
    model=st.sampled_from([QWEN, NEMOTRON, GEMMA, EMBEDDER]),
)
def test_a_clip_that_is_taken_fits_the_model(
    milliseconds: int, fps: float | None, own: Fraction | None, model: Model
) -> None:
    """Whatever its rates: within the context, and refused only where it is longer than the longest."""
    item = Measured(modality="video", milliseconds=milliseconds, source="read", frame_rate=own)
    try:
        usage = count_media([item], model=model, row="x", video_fps=fps)
    except RowError as error:
        assert error.code == "video_too_long"
        return
    assert 0 < usage.input_tokens <= context_tokens(model, ["video"])
    assert usage.video_ms == milliseconds
