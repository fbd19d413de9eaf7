"""What a clip or picture says about itself, read in a child process that can be lost (see `probe_child`).

Only the ranges that the child asks for reach it, so a clip of 150 MB costs its headers, wherever it lies.
"""

import re
from fractions import Fraction
from typing import IO, Any, Final

import orjson
from msgspec import Struct

from anex.core.errors import Unavailable
from anex.core.helper_process import HelperProcess, read_exactly
from inference.media.formats import Modality, Reader
from inference.media.probe_child import QUESTION, REQUEST

_child: Final = HelperProcess("inference.media.probe_child")
# Streams of frames with no length anywhere: counting the frames is reading all of them.
_WALKED: Final = frozenset({"mp3", "aac"})
# Ten thousand hours; a header that claims more claims nothing.
_LONGEST_MS: Final = 36_000_000_000
_MOST_FPS: Final = 10_000
_DECIMAL: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
# How often a clip may be read over; an honest one is read once at most.
_PASSES: Final = 3


class Clip(Struct, frozen=True):
    """What a clip's headers state; None where they do not. `found`: they describe a stream of its modality."""

    found: bool = False
    milliseconds: int | None = None
    frame_rate: Fraction | None = None
    frames: int | None = None


class Picture(Struct, frozen=True):
    """Size of a picture in pixels."""

    width: int
    height: int


class _TooMuchAsked(Exception):
    """The child asks for more bytes than the clip is worth."""


def probe_clip(
    read: Reader, size: int, *, format: str | None, modality: Modality, most_bytes: int | None = None
) -> Clip:
    """What the `size` bytes behind `read` state; an empty `Clip` where they cannot be read.

    With `most_bytes` (a hosted clip) no more than that is read, and a stream without a length is not walked. Errors of
    `read` pass through; `Unavailable` where nothing can be read on this machine.
    """
    walk = format in _WALKED and most_bytes is None
    facts = _ask(read, size, format or "", walk, size * _PASSES if most_bytes is None else most_bytes)
    own, whole = facts.get(modality.capitalize()) or {}, facts.get("General") or {}
    frames = _number(own.get("frame_count"), most=_LONGEST_MS) if modality == "video" else None
    return Clip(
        found=bool(own),
        milliseconds=_milliseconds(own) or _milliseconds(whole),
        frame_rate=_frame_rate(own) if modality == "video" else None,
        frames=int(frames) if frames is not None else None,
    )


def probe_picture(read: Reader, size: int, *, format: str) -> Picture | None:
    """The size a picture's header states, None where it cannot be read."""
    facts = _ask(read, size, format, False, size * _PASSES)
    return Picture(facts["width"], facts["height"]) if facts else None


def _ask(read: Reader, size: int, format: str, walk: bool, budget: int) -> dict[str, Any]:
    """The child's facts; none where the question ended the child. `Unavailable` where no other can be started."""
    try:
        return _question(read, size, format, walk, budget)
    except (BrokenPipeError, EOFError, _TooMuchAsked):
        pass
    try:
        _question(read, 0, "", False, 0)
    except (BrokenPipeError, EOFError):
        raise Unavailable("Pictures and clips cannot be read now: their reader does not start.") from None
    return {}


def _question(read: Reader, size: int, format: str, walk: bool, budget: int) -> dict[str, Any]:
    with _child.asked() as (to_child, from_child):
        to_child.write(QUESTION.pack(format.encode(), walk, size))
        to_child.flush()
        return _exchange(read, to_child, from_child, budget)


def _exchange(read: Reader, to_child: IO[bytes], from_child: IO[bytes], budget: int) -> dict[str, Any]:
    while True:
        offset, size = REQUEST.unpack(read_exactly(from_child, REQUEST.size))
        if not size:
            facts: dict[str, Any] = orjson.loads(read_exactly(from_child, offset))
            return facts
        budget -= size
        if budget < 0:
            raise _TooMuchAsked
        data = read(offset, size)
        if len(data) != size:
            raise EOFError
        to_child.write(data)
        to_child.flush()


def _milliseconds(facts: dict[str, str | None]) -> int | None:
    stated = _number(facts.get("duration"), most=_LONGEST_MS)
    return -(-stated.numerator // stated.denominator) if stated else None


def _frame_rate(facts: dict[str, str | None]) -> Fraction | None:
    over, under = (_number(facts.get(name), most=_LONGEST_MS) for name in ("framerate_num", "framerate_den"))
    exact = over / under if over and under else _number(facts.get("frame_rate"), most=_MOST_FPS)
    return exact if exact and exact <= _MOST_FPS else None


def _number(text: str | None, *, most: int) -> Fraction | None:
    """A decimal of a header, from 0 to `most`; None for everything else."""
    if not text or not _DECIMAL.fullmatch(text):
        return None
    number = Fraction(text)
    return number if number <= most else None
