"""Reads one content part of a row (reference 001, the input file) and says what it carries."""

import math
from base64 import b64encode
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

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
from inference.refusals import RowError, row_error

MEDIA_PARTS: Final[dict[str, Modality]] = {
    "image_url": "image",
    "input_audio": "audio",
    "audio_url": "audio",
    "video_url": "video",
}
PARTS: Final = ("text", *MEDIA_PARTS)
_ITEMS: Final = {"image": "image", "audio": "audio file", "video": "video file"}
_MEGABYTE: Final = 1_000_000
# How much of a data: URI may precede its data; the longest real ones name a media type and its codecs.
_DATA_HEADER: Final = 256


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


def read_part(part: object, *, at: str, model: Model) -> TextPart | MediaPart:
    """The part at path `at`, or a `RowError` naming the first fault. Fields that are not used are ignored."""
    if not isinstance(part, dict):
        raise row_error("wrong_type", at, expected="an object with a type")
    kind = part.get("type")
    if kind == "text":
        return TextPart(_string(part, "text", at))
    modality = MEDIA_PARTS.get(kind) if isinstance(kind, str) else None
    if not isinstance(kind, str) or modality is None:
        shown = kind[:64] if isinstance(kind, str) else "(none)"
        raise row_error("unknown_part", f"{at}.type", type=shown, supported=", ".join(PARTS))
    if modality not in model.inputs:
        raise row_error("no_encoder", f"{at}.type", model=model.id, modality=modality)
    body = part.get(kind)
    if not isinstance(body, dict):
        raise _missing_or("an object", body, f"{at}.{kind}")
    read = _input_audio if kind == "input_audio" else _by_url
    return read(body, kind, modality, at, model)


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


def _input_audio(body: dict[str, Any], kind: str, modality: Modality, at: str, model: Model) -> MediaPart:
    inside = f"{at}.{kind}"
    declared = format_named(_string(body, "format", inside), modality, at=f"{inside}.format")
    text = _string(body, "data", inside)
    if text[:5].lower() == "data:":
        raise row_error("data_prefix", f"{inside}.data")
    data, format = _inline(InlineBytes(text), declared, modality, f"{inside}.data", model)
    declared_ms = _declared(body, modality, inside)
    return MediaPart(at=at, type=kind, modality=modality, format=format, data=data, declared_ms=declared_ms)


def _by_url(body: dict[str, Any], kind: str, modality: Modality, at: str, model: Model) -> MediaPart:
    inside = f"{at}.{kind}"
    url, declared_ms = _string(body, "url", inside), _declared(body, modality, inside)
    inside += ".url"
    if url[:5].lower() == "data:":
        bytes_at, declared = _data_uri(url, modality, inside)
        data, format = _inline(InlineBytes(url, bytes_at), declared, modality, inside, model)
        return MediaPart(at=at, type=kind, modality=modality, format=format, data=data, declared_ms=declared_ms)
    _check_address(url, inside)
    found = format_of_url(url, modality, at=inside)
    return MediaPart(at=at, type=kind, modality=modality, format=found, url=url, declared_ms=declared_ms)


def _data_uri(url: str, modality: Modality, at: str) -> tuple[int, str | None]:
    """Where the data of a data: URI begins, and the format its media type names; one without a type names none."""
    comma = url.find(",", 0, _DATA_HEADER)
    header = url[5 : max(comma, 5)]
    if comma < 0 or not header.lower().endswith(";base64"):
        raise row_error("not_base64_uri", at)
    named = header[: -len(";base64")]
    return comma + 1, format_of_media_type(named, modality, at=at) if named else None


def _inline(
    data: InlineBytes, declared: str | None, modality: Modality, at: str, model: Model
) -> tuple[InlineBytes, str]:
    """Checked size first, which costs nothing, then alphabet, then first bytes."""
    limits = getattr(model.media, modality)
    if data.size > limits.max_inline_mb * _MEGABYTE:
        raise row_error("media_too_large", at, item=_ITEMS[modality], limit=limits.max_inline_mb)
    if not data.is_valid():
        raise row_error("invalid_base64", at)
    if not data.size:
        raise row_error("empty", at)
    return data, format_of_bytes(data.read, modality, declared=declared, at=at)


def _check_address(url: str, at: str) -> None:
    """Form alone: which hosts may be asked is decided where they are asked."""
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
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise row_error("invalid_duration", f"{at}.duration_seconds")
    return math.ceil(seconds * 1000)


def _string(body: dict[str, Any], key: str, at: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise _missing_or("a string", value, f"{at}.{key}")
    return value


def _missing_or(expected: str, value: object, param: str) -> RowError:
    return row_error("missing", param) if value is None else row_error("wrong_type", param, expected=expected)
