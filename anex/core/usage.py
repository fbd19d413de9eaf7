"""What one answer consumed: tokens as the model server reported them, media as they were sent."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of one row or request, or of many together; `cached_tokens` is a part of `input_tokens`.

    A clip is one audio or video item. Durations are milliseconds, so that they are exact integers.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    clips: int = 0
    video_ms: int = 0
    audio_ms: int = 0

    @property
    def has_media(self) -> bool:
        """Whether anything but text was sent, which is priced in a class of its own."""
        return bool(self.images or self.clips or self.video_ms or self.audio_ms)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))
