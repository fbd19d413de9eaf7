"""Reads one content part of a row (reference 001, the input file) and says what it carries."""

import math
import re
from base64 import b64encode
from fractions import Fraction
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from anex.core.destinations import MAX_URL_LENGTH
from inference.catalogue.schema import Model
from inference.media.formats import (
    Modality,
    format_named,
    format_of_bytes,
    format_of_media_type,
    format_of_url,
    media_type,
)
from inference.media.inline import InlineBytes
from inference.refusals import expected, row_error

MEDIA_PARTS: Final[dict[str, Modality]] = {
    "image_url": "image",
    "input_audio": "audio",
    "audio_url": "audio",
    "video_url": "video",
}
_ITEMS: Final = {"image": "image", "audio": "audio file", "video": "video file"}
_MEGABYTE: Final = 1_000_000
# What a colon follows is no base64.
_IS_URL: Final = re.compile("(?:https?|data):", re.IGNORECASE)
# No clip is longer: thirty years, and far below where floats end.
_LONGEST_SECONDS: Final = 10**9
# How much of a data: URI may precede its data; the longest real ones name a media type and its codecs.
_DATA_HEADER: Final = 256


class PartRules(Struct, frozen=True, kw_only=True):
    """In what the parts of rows and of requests differ.

    `kinds` are the parts besides text. With `clips_by_url` the data of an input_* part may be a URL. With
    `bounds_inline` an inline item is held to the size of its model; without, the body's size alone bounds it. Of the
    modalities in `counted` the catalogue must know what an item becomes.
    """

    kinds: dict[str, Modality]
    clips_by_url: bool = False
    bounds_inline: bool = True
    counted: frozenset[Modality] = frozenset({"image", "audio", "video"})


ROW_PARTS: Final = PartRules(kinds=MEDIA_PARTS)
# What a request that is answered at once may cost is bounded by its context and the length of its clips.
CHAT_PARTS: Final = PartRules(
    kinds=MEDIA_PARTS, clips_by_url=True, bounds_inline=False, counted=frozenset({"audio", "video"})
)
EMBEDDING_PARTS: Final = PartRules(
    kinds={"image_url": "image", "input_video": "video"},
    clips_by_url=True,
    bounds_inline=False,
    counted=frozenset({"audio", "video"}),
)


class TextPart(Struct, frozen=True):
    """Text."""

    text: str


class MediaPart(Struct, frozen=True, kw_only=True):
    """A picture or clip: inline `data`, or a `url` that nobody has asked yet.

    `at` is its path in the line. `format` is None for a URL that does not tell. `declared_ms` is the sender's
    `duration_seconds` in milliseconds, rounded up.
    """

    at: str
    type: str
    modality: Modality
    format: str | None
    data: InlineBytes | None = None
    url: str | None = None
    declared_ms: int | None = None


def read_part(part: object, *, at: str, model: Model, rules: PartRules = ROW_PARTS) -> TextPart | MediaPart:
    """The part at path `at`, or a `RowError` naming the first fault. Fields that are not used are ignored."""
    if not isinstance(part, dict):
        raise row_error("wrong_type", at, expected="an object with a type")
    kind = part.get("type")
    if kind == "text":
        return TextPart(_string(part, "text", at))
    modality = rules.kinds.get(kind) if isinstance(kind, str) else None
    if not isinstance(kind, str) or modality is None:
        shown = kind[:64] if isinstance(kind, str) else "(none)"
        raise row_error("unknown_part", f"{at}.type", type=shown, supported=", ".join(("text", *rules.kinds)))
    if modality not in model.inputs:
        raise row_error("no_encoder", f"{at}.type", model=model.id, modality=modality)
    body = part.get(kind)
    if not isinstance(body, dict):
        raise expected("an object", body, f"{at}.{kind}")
    read = _input_clip if kind.startswith("input_") else _by_url
    return read(body, _Place(at, kind, modality, model, rules))


def fetched(part: MediaPart, data: bytes, *, format: str) -> MediaPart:
    """The part of a URL with the bytes that came from there; its format is then known."""
    return msgspec.structs.replace(part, url=None, data=InlineBytes(b64encode(data).decode()), format=format)


def upstream_part(part: MediaPart) -> dict[str, Any]:
    """The part as a model server is sent it: always with its bytes, so those of a URL must have been `fetched`."""
    assert part.data is not None
    assert part.format
    encoded = part.data.text[part.data.start :]
    if part.type == "input_audio":
        return {"type": part.type, part.type: {"data": encoded, "format": part.format}}
    return {"type": part.type, part.type: {"url": f"data:{media_type(part.format)};base64,{encoded}"}}


class _Place(NamedTuple):
    """A part's path, type and modality, and what it is held to."""

    at: str
    kind: str
    modality: Modality
    model: Model
    rules: PartRules

    @property
    def inside(self) -> str:
        """The path of the part's body."""
        return f"{self.at}.{self.kind}"

    def part(self, **found: Any) -> MediaPart:
        """The part as it is sent on: servers know no input_video."""
        kind = "video_url" if self.kind == "input_video" else self.kind
        return MediaPart(at=self.at, type=kind, modality=self.modality, **found)


def _input_clip(body: dict[str, Any], place: _Place) -> MediaPart:
    """A clip as base64 beside the name of its format; by the rules of requests also by URL, which may name its own."""
    text, at = _string(body, "data", place.inside), f"{place.inside}.data"
    by_url = place.rules.clips_by_url and _IS_URL.match(text)
    named = body.get("format") if by_url and body.get("format") is None else _string(body, "format", place.inside)
    declared = format_named(named, place.modality, at=f"{place.inside}.format") if named is not None else None
    declared_ms = _declared(body, place.modality, place.inside)
    if by_url:
        return _located(text, at, place, declared=declared, declared_ms=declared_ms)
    if text[:5].lower() == "data:":
        raise row_error("data_prefix", at)
    data, format = _inline(InlineBytes(text), declared, at, place)
    return place.part(format=format, data=data, declared_ms=declared_ms)


def _by_url(body: dict[str, Any], place: _Place) -> MediaPart:
    url, declared_ms = _string(body, "url", place.inside), _declared(body, place.modality, place.inside)
    return _located(url, f"{place.inside}.url", place, declared=None, declared_ms=declared_ms)


def _located(url: str, at: str, place: _Place, *, declared: str | None, declared_ms: int | None) -> MediaPart:
    if url[:5].lower() == "data:":
        bytes_at, named = _data_uri(url, place.modality, at)
        data, format = _inline(InlineBytes(url, bytes_at), declared or named, at, place)
        return place.part(format=format, data=data, declared_ms=declared_ms)
    _check_address(url, at)
    found = declared or format_of_url(url, place.modality, at=at)
    return place.part(format=found, url=url, declared_ms=declared_ms)


def _data_uri(url: str, modality: Modality, at: str) -> tuple[int, str | None]:
    """Where the data of a data: URI begins, and the format its media type names; one without a type names none."""
    comma = url.find(",", 0, _DATA_HEADER)
    header = url[5 : max(comma, 5)]
    if comma < 0 or not header.lower().endswith(";base64"):
        raise row_error("not_base64_uri", at)
    named = header[: -len(";base64")]
    return comma + 1, format_of_media_type(named, modality, at=at) if named else None


def _inline(data: InlineBytes, declared: str | None, at: str, place: _Place) -> tuple[InlineBytes, str]:
    """Checked size first, which costs nothing, then alphabet, then first bytes."""
    modality = place.modality
    most = getattr(place.model.media, modality).max_inline_mb
    if place.rules.bounds_inline and data.size > most * _MEGABYTE:
        raise row_error("media_too_large", at, item=_ITEMS[modality], limit=most)
    if not data.is_valid():
        raise row_error("invalid_base64", at)
    if not data.size:
        raise row_error("empty", at)
    return data, format_of_bytes(data.read, modality, declared=declared, at=at)


def _check_address(url: str, at: str) -> None:
    """Form alone: which hosts may be asked is decided where they are asked.

    Length comes first: the standard library keeps what it took apart, whatever its size.
    """
    if len(url) > MAX_URL_LENGTH:
        raise row_error("media_url_too_long", at, most=f"{MAX_URL_LENGTH:,}")
    try:
        parts = urlsplit(url)
        known = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        known = False
    if not known:
        raise row_error("invalid_media_url", at)


def _declared(body: dict[str, Any], modality: Modality, at: str) -> int | None:
    seconds = body.get("duration_seconds")
    if seconds is None or modality == "image":
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_SECONDS:
        raise row_error("invalid_duration", f"{at}.duration_seconds", most=f"{_LONGEST_SECONDS:,}")
    # As it is written in decimals: 16.1 s are 16,100 ms, which floats would round up to 16,101.
    return math.ceil(Fraction(str(seconds)) * 1000)


def _string(body: dict[str, Any], key: str, at: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise expected("a string", value, f"{at}.{key}")
    return value
