"""What the pictures and clips of a row become: input tokens, and what is billed per item and per minute.

Figures are the catalogue's, rules are those of references 001 (video_fps, duration_seconds, failure_reason) and 002
(limits).
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from anex.core.usage import Usage
from inference.catalogue.schema import Audio, Model, Video
from inference.media.formats import Modality
from inference.media.lengths import Measured, in_seconds
from inference.refusals import RowError, row_error

_PLURALS: Final = {"image": "images", "audio": "audio clips", "video": "video clips"}


def countable(model: Model, modality: Modality) -> bool:
    """Whether the catalogue knows what an item of this kind becomes; what it does not know is not served."""
    media = model.media
    if media is None:
        return False
    if modality == "image":
        return media.image is not None and media.image.max_tokens is not None
    if modality == "video":
        return media.video is not None and media.video.tokens_per_frame is not None
    return media.audio is not None


def count_media(items: Sequence[Measured], *, model: Model, row: str, video_fps: float | None = None) -> Usage:
    """The row's media as input tokens, items and milliseconds; every modality must be `countable`.

    A picture counts as the model's largest. A clip of unknown length counts as the longest the model takes. Raises
    `RowError` naming the row (its custom_id) for a clip that is longer, or has fewer frames than a clip needs.
    """
    return sum((_count(item, model, row, video_fps) for item in items), Usage())


def least_tokens(modalities: Iterable[Modality], *, model: Model) -> int:
    """What items of these kinds become at least, however short they are."""
    return sum(_least(modality, model) for modality in modalities)


def check_context(input_tokens: int, modalities: Iterable[Modality], *, model: Model, row: str) -> None:
    """Raise `RowError` where a row's input, media included, is more than the model reads at once."""
    kinds = sorted(set(modalities))
    most = context_tokens(model, kinds)
    if input_tokens > most:
        carried = f" with {' and '.join(kinds)} input" if kinds else ""
        shown = {"tokens": f"{input_tokens:,}", "media": " (including media)", "most": f"{most:,}"}
        raise row_error("row_too_long", row=row, model=model.id, carried=carried, **shown)


def context_tokens(model: Model, modalities: Iterable[Modality]) -> int:
    """The context of a row by what it carries, in tokens."""
    visual = {"image", "video"} & set(modalities)
    return model.visual_context_tokens if visual and model.visual_context_tokens else model.context_tokens


def surplus(items: Iterable[Measured], *, model: Model) -> str | None:
    """Why the row carries too many items of a kind, or None. Not a reason to fail the job: such a row fails alone."""
    kinds = [item.modality for item in items]
    for modality in dict.fromkeys(kinds):
        most, sent = getattr(getattr(model.media, modality), "max_per_row", None), kinds.count(modality)
        if most is not None and sent > most:
            return f"the row carries {sent} {_PLURALS[modality]}: model '{model.id}' takes at most {most}"
    return None


def frames_of(milliseconds: int, fps: Fraction) -> int:
    """Frames that are sampled of a clip: its seconds times the rate, rounded up, and one."""
    return math.ceil(milliseconds * fps / 1000) + 1


def longest_video_ms(model: Model, fps: Fraction) -> int:
    """The longest clip a model takes at a sampling rate: by its own ceiling and by the frames it has room for."""
    video = _video(model)
    by_frames = math.floor((_most_frames(model, video) - 1) * 1000 / fps)
    return by_frames if video.max_seconds is None else min(by_frames, video.max_seconds * 1000)


def longest_ms(item: Measured, *, model: Model, video_fps: float | None = None) -> int:
    """The longest clip of this kind the model takes, in whole seconds: what a clip of unknown length is priced as.

    The rest of the last second is what a clip that fills the context leaves to the prompt.
    """
    if item.modality == "video":
        return _whole_seconds(longest_video_ms(model, _sampling_rate(item, model, video_fps)))
    return _audio_of(model).max_seconds * 1000


def _count(item: Measured, model: Model, row: str, video_fps: float | None) -> Usage:
    if item.modality == "image":
        image = model.media.image if model.media else None
        assert image
        assert image.max_tokens
        return Usage(input_tokens=image.max_tokens, images=1)
    return _audio(item, model, row) if item.modality == "audio" else _clip(item, model, row, video_fps)


def _least(modality: Modality, model: Model) -> int:
    image, video = (model.media.image, model.media.video) if model.media else (None, None)
    if modality == "image":
        return (image and image.max_tokens) or 1
    return 2 * ((video and video.tokens_per_frame) or 1) if modality == "video" else 1


def _audio(item: Measured, model: Model, row: str) -> Usage:
    audio, longest = _audio_of(model), longest_ms(item, model=model)
    length = longest if item.milliseconds is None else item.milliseconds
    if length > longest:
        raise _audio_too_long(item, length, audio, model, row)
    tokens = math.ceil(length * _exact(audio.tokens_per_second) / 1000)
    return Usage(input_tokens=tokens, clips=1, audio_ms=length)


def _clip(item: Measured, model: Model, row: str, asked: float | None) -> Usage:
    video = _video(model)
    assert video.tokens_per_frame
    if item.frames is not None and item.frames < video.min_frames:
        raise row_error("too_few_frames", row=row, frames=item.frames, least=video.min_frames)
    fps = _sampling_rate(item, model, asked)
    length = longest_ms(item, model=model, video_fps=asked) if item.milliseconds is None else item.milliseconds
    if length > longest_video_ms(model, fps):
        raise _video_too_long(item, length, fps, model, row, asked=asked is not None and fps == _exact(asked))
    tokens = video.tokens_per_frame * frames_of(length, fps)
    return Usage(input_tokens=tokens, clips=1, video_ms=length)


def _sampling_rate(item: Measured, model: Model, asked: float | None) -> Fraction:
    """Frames per second: as asked, else the model's default, and never more than the clip holds."""
    wanted = _exact(asked or _video(model).default_fps)
    return min(wanted, item.frame_rate or wanted)


def _audio_too_long(item: Measured, length: int, audio: Audio, model: Model, row: str) -> RowError:
    code = "audio_estimated_too_long" if item.source == "estimated" else "audio_too_long"
    return row_error(code, row=row, seconds=in_seconds(length), most=audio.max_seconds, model=model.id)


def _video_too_long(item: Measured, length: int, fps: Fraction, model: Model, row: str, *, asked: bool) -> RowError:
    ceiling = _video(model).max_seconds
    slower = asked and (ceiling is None or length <= ceiling * 1000)
    advice = "Shorten the clip or lower video_fps." if slower else "Shorten the clip."
    estimated = item.source == "estimated"
    return row_error(
        "video_too_long",
        row=row,
        seconds=f"estimated at {in_seconds(length)} s from its size" if estimated else f"{in_seconds(length)} s",
        rate=f"the requested {_rate(fps)}" if asked else _rate(fps),
        model=model.id,
        longest=in_seconds(_whole_seconds(longest_video_ms(model, fps))),
        advice=f"{advice} If it is not that long, state its length in duration_seconds." if estimated else advice,
    )


def _audio_of(model: Model) -> Audio:
    assert model.media
    assert model.media.audio
    return model.media.audio


def _video(model: Model) -> Video:
    assert model.media
    assert model.media.video
    return model.media.video


def _most_frames(model: Model, video: Video) -> int:
    """The model's own ceiling of frames, or what its context has room for, whichever is lower."""
    assert video.tokens_per_frame
    room = context_tokens(model, ["video"]) // video.tokens_per_frame
    return room if video.max_frames is None else min(room, video.max_frames)


def _whole_seconds(milliseconds: int) -> int:
    return milliseconds // 1000 * 1000 or milliseconds


def _exact(rate: float) -> Fraction:
    """A rate as it is written in decimals: 0.1 is a tenth, so that rounding up does not see binary dust."""
    return Fraction(str(rate))


def _rate(fps: Fraction) -> str:
    return f"{float(fps):.3f}".rstrip("0").rstrip(".") + " fps"
