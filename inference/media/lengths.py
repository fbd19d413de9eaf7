"""How long a clip is, and how that is known (reference 001, duration_seconds)."""

from fractions import Fraction
from typing import Final, Literal

from msgspec import Struct

from inference.media.formats import Modality, Reader
from inference.media.parts import MediaPart
from inference.media.probe import Clip, Patience, probe_clip

Source = Literal["declared", "read", "estimated", "unknown"]

# Bits per second that a clip of unknown length is taken to have. The references name none: these are ours, low for the
# format, so that an estimate runs long rather than short.
BITRATES: Final[dict[str, int]] = {
    "wav": 256_000,
    "aiff": 256_000,
    "flac": 128_000,
    "mp3": 64_000,
    "m4a": 48_000,
    "aac": 48_000,
    "ogg": 48_000,
    "opus": 24_000,
    "mp4": 500_000,
    "mov": 500_000,
    "webm": 500_000,
    "mkv": 500_000,
    "avi": 1_000_000,
}
# The most of a hosted clip that is fetched to learn its length.
HOSTED_BYTES: Final = 8 << 20


class Hosted(Struct, frozen=True):
    """What a clip's host told: its size in bytes, and how to read ranges of it where it serves them."""

    size: int
    read: Reader | None = None


class Measured(Struct, frozen=True, kw_only=True):
    """A picture or clip, sized. `milliseconds` is None for a picture and where `source` is `unknown`.

    `frame_rate` and `frames` are the clip's own, None where its headers were not read or do not tell.
    """

    modality: Modality
    milliseconds: int | None = None
    source: Source = "unknown"
    frame_rate: Fraction | None = None
    frames: int | None = None


def measure(part: MediaPart, *, hosted: Hosted | None = None, patience: Patience | None = None) -> Measured:
    """A part's length: as declared, else as the clip states it, else by its size in bytes, else unknown.

    Without `hosted`, no clip that is named by URL is asked for: admission is decided like that. With it, only the
    price is made finer. Errors of `hosted.read` pass through. Once `patience` is over no clip is read any more.
    """
    if part.modality == "image":
        return Measured(modality="image")
    clip = _stated(part, hosted, patience)
    milliseconds, source = _length(part, clip, hosted)
    return Measured(
        modality=part.modality,
        milliseconds=milliseconds,
        source=source,
        frame_rate=clip.frame_rate,
        frames=clip.frames,
    )


def estimate_ms(size: int, format: str | None) -> int | None:
    """Milliseconds of `size` bytes at the format's bitrate; None for a format that is not known."""
    return max(1, -(-size * 8_000 // BITRATES[format])) if format in BITRATES else None


def in_seconds(milliseconds: int) -> str:
    """A length as sentences say it: 45 or 45.5."""
    whole, rest = divmod(milliseconds, 1000)
    return f"{whole}.{rest:03}".rstrip("0").rstrip(".")


def _stated(part: MediaPart, hosted: Hosted | None, patience: Patience | None) -> Clip:
    """The headers; those of an inline video also where its length is declared, for its frame rate."""
    if part.declared_ms is not None and (part.modality == "audio" or part.data is None):
        return Clip()
    if part.data is not None:
        data = part.data
        return probe_clip(data.read, data.size, format=part.format, modality=part.modality, patience=patience)
    if hosted is None or hosted.read is None or part.format is None:
        return Clip()
    return probe_clip(
        hosted.read,
        hosted.size,
        format=part.format,
        modality=part.modality,
        most_bytes=HOSTED_BYTES,
        patience=patience,
    )


def _length(part: MediaPart, clip: Clip, hosted: Hosted | None) -> tuple[int | None, Source]:
    if part.declared_ms is not None:
        return part.declared_ms, "declared"
    if clip.milliseconds:
        return clip.milliseconds, "read"
    size = part.data.size if part.data is not None else hosted.size if hosted else None
    if size and (estimated := estimate_ms(size, part.format)):
        return estimated, "estimated"
    return None, "unknown"
