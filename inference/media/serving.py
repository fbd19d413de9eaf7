"""The last look at a picture or clip, when its bytes are at hand and are about to be served.

What is found here fails one row, not the job (reference 003, format_error_rows).
"""

from typing import Final

from inference.catalogue.schema import Model
from inference.media.formats import Reader
from inference.media.lengths import Measured, in_seconds
from inference.media.probe import Clip, Patience, decodes, probe_clip, probe_picture
from inference.media.probe_child import MAX_PIXELS
from inference.media.rates import longest_ms
from inference.refusals import RowError, row_error

# How far a clip may run past the length it was priced at: coders add frames, people round.
_SLACK_MS: Final = 1_000


def media_fault(
    priced: Measured,
    read: Reader,
    size: int,
    *,
    format: str,
    at: str,
    model: Model,
    video_fps: float | None = None,
    patience: Patience | None = None,
) -> RowError | None:
    """Why the `size` bytes behind `read` cannot be served for the part at path `at`, or None.

    `media_unreadable`, or `media_length_mismatch` for a clip that is longer than what the estimate measured (`priced`).
    `format` is the part's own or, where its URL told none, what its bytes show.
    """
    if priced.modality == "image":
        return _unreadable(at, _picture_fault(read, size, format))
    clip = probe_clip(read, size, format=format, modality=priced.modality, patience=patience)
    if fault := _clip_fault(clip, priced, format, model):
        return _unreadable(at, fault)
    paid = priced.milliseconds or longest_ms(priced, model=model, video_fps=video_fps)
    if clip.milliseconds is not None and clip.milliseconds > paid + _SLACK_MS:
        return row_error("media_length_mismatch", at, real=in_seconds(clip.milliseconds), priced=in_seconds(paid))
    return None


def damage(read: Reader, size: int, *, format: str, at: str) -> RowError | None:
    """Why a picture that a server refused is to blame, `media_unreadable`, or None where it can be decoded."""
    return None if decodes(read, size, format=format) else _unreadable(at, f"it is damaged or not complete as {format}")


def _clip_fault(clip: Clip, priced: Measured, format: str, model: Model) -> str | None:
    if not clip.found:
        return f"it holds no {priced.modality} as {format}"
    video = model.media.video if model.media else None
    if clip.frames is not None and video and clip.frames < video.min_frames:
        return f"it holds {clip.frames} of the {video.min_frames} frames a clip needs"
    return None


def _picture_fault(read: Reader, size: int, format: str) -> str | None:
    picture = probe_picture(read, size, format=format)
    if picture is None:
        return f"it holds no picture as {format}"
    if picture.width * picture.height > MAX_PIXELS:
        return f"{picture.width} × {picture.height} pixels are more than the {MAX_PIXELS:,} that are decoded"
    return None


def _unreadable(at: str, reason: str | None) -> RowError | None:
    return row_error("media_unreadable", at, reason=reason) if reason else None
