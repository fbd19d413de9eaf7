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
from inference.media.probe_child import PROCESSOR_S, QUESTION, REQUEST, WALKED_BYTES_PER_S

# The child gives a question a minute, hosts that dawdle included: only one that is stopped takes longer.
_LIMIT_S: Final = 90.0
_child: Final = HelperProcess("inference.media.probe_child", limit_s=_LIMIT_S)
# A host that dawdles holds up other hosts, but not the clips that lie in rows.
_hosted_child: Final = HelperProcess("inference.media.probe_child", limit_s=_LIMIT_S)
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


# What honest headers take of a processor at most; only what is above it counts against a job.
_HONEST_S: Final = 0.02
_PATIENCE_S: Final = 30.0


class Patience:
    """How much processor time hostile headers may take of one job: half a minute above what honest ones take.

    A file that ends the child costs its whole limit, so that is some sixty of them. Once it is over, clips are not read
    any more: while a job is priced they are estimated from their size, and when they are served they count as
    unreadable. Without it a file of a million such clips would hold the child for days.
    """

    def __init__(self, seconds: float = _PATIENCE_S) -> None:
        self._left_s = seconds

    @property
    def over(self) -> bool:
        """Whether nothing more is read."""
        return self._left_s <= 0

    def spend(self, processor_s: float, *, walked_bytes: int) -> None:
        """Count what one clip took."""
        self._left_s -= max(0.0, processor_s - _HONEST_S - walked_bytes / WALKED_BYTES_PER_S)


class _Question(Struct, frozen=True, kw_only=True):
    """What the child is asked: about `size` bytes, of which it may read `budget`, all of them where it is to `walk`."""

    format: str
    size: int
    budget: int
    walk: bool = False


class _NoBytes(Exception):
    """The child asks for more bytes than the clip is worth, or has."""


def probe_clip(
    read: Reader,
    size: int,
    *,
    format: str | None,
    modality: Modality,
    most_bytes: int | None = None,
    patience: Patience | None = None,
) -> Clip:
    """What the `size` bytes behind `read` state; an empty `Clip` where they cannot be read.

    With `most_bytes` (a hosted clip) no more than that is read, and a stream without a length is not walked. Nothing is
    read once `patience` is over. Errors of `read` pass through; `Unavailable` where this machine cannot read anything.
    """
    if patience and patience.over:
        return Clip()
    walk = format in _WALKED and most_bytes is None
    child, budget = (_child, size * _PASSES) if most_bytes is None else (_hosted_child, most_bytes)
    facts = _ask(child, read, _Question(format=format or "", size=size, budget=budget, walk=walk))
    if patience:
        patience.spend(facts.get("processor_s", PROCESSOR_S), walked_bytes=size if walk else 0)
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
    facts = _ask(_child, read, _Question(format=format, size=size, budget=size * _PASSES))
    return Picture(facts["width"], facts["height"]) if "width" in facts else None


def decodes(read: Reader, size: int, *, format: str) -> bool:
    """Whether a picture can be decoded to its end: seconds for a large one. Not even begun beyond `MAX_PIXELS`."""
    facts = _ask(_child, read, _Question(format=format, size=size, budget=size * _PASSES, walk=True))
    return facts.get("decoded") is True


def _ask(child: HelperProcess, read: Reader, question: _Question) -> dict[str, Any]:
    """The child's facts; none where the question ended the child. `Unavailable` where no other can be started."""
    try:
        return _answer(child, read, question)
    except (EOFError, _NoBytes):
        pass
    try:
        _answer(child, read, _Question(format="", size=0, budget=0))
    except EOFError:
        raise Unavailable("Pictures and clips cannot be read now: their reader does not start.") from None
    return {}


def _answer(child: HelperProcess, read: Reader, question: _Question) -> dict[str, Any]:
    def talk(to_child: IO[bytes], from_child: IO[bytes]) -> dict[str, Any]:
        to_child.write(QUESTION.pack(question.format.encode(), question.walk, question.size))
        to_child.flush()
        return _exchange(read, to_child, from_child, question.budget)

    return child.ask(talk)


def _exchange(read: Reader, to_child: IO[bytes], from_child: IO[bytes], budget: int) -> dict[str, Any]:
    while True:
        offset, size = REQUEST.unpack(read_exactly(from_child, REQUEST.size))
        if not size:
            facts: dict[str, Any] = orjson.loads(read_exactly(from_child, offset))
            return facts
        budget -= size
        if budget < 0:
            raise _NoBytes
        data = read(offset, size)
        if len(data) != size:
            raise _NoBytes
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
