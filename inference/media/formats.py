"""The media formats that are taken (reference 001, the input file), by name, media type, extension and first bytes."""

import re
from collections.abc import Callable
from typing import Final, Literal
from urllib.parse import urlsplit

from inference.refusals import row_error

Modality = Literal["image", "audio", "video"]
# Reads bytes of a clip or picture: (offset, size), fewer bytes only at its end.
Reader = Callable[[int, int], bytes]

FORMATS: Final[dict[Modality, tuple[str, ...]]] = {
    "audio": ("wav", "mp3", "m4a", "aac", "ogg", "opus", "flac", "aiff"),
    "video": ("mp4", "webm", "mov", "mkv", "avi"),
    "image": ("png", "jpeg", "webp", "gif", "bmp", "tiff"),
}
# The name to send on comes first (reference 000, images, audio and video in chat); the others are seen in the wild.
_MEDIA_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "wav": ("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"),
    "mp3": ("audio/mpeg", "audio/mp3", "audio/x-mp3", "audio/mpeg3"),
    "m4a": ("audio/mp4", "audio/m4a", "audio/x-m4a"),
    "aac": ("audio/aac", "audio/x-aac", "audio/aacp"),
    "ogg": ("audio/ogg", "application/ogg"),
    "opus": ("audio/opus",),
    "flac": ("audio/flac", "audio/x-flac"),
    "aiff": ("audio/aiff", "audio/x-aiff"),
    "mp4": ("video/mp4",),
    "webm": ("video/webm",),
    "mov": ("video/quicktime",),
    "mkv": ("video/x-matroska", "video/matroska"),
    "avi": ("video/x-msvideo", "video/avi", "video/msvideo"),
    "png": ("image/png",),
    "jpeg": ("image/jpeg", "image/jpg"),
    "webp": ("image/webp",),
    "gif": ("image/gif",),
    "bmp": ("image/bmp", "image/x-bmp", "image/x-ms-bmp"),
    "tiff": ("image/tiff", "image/tif"),
}
_BY_MEDIA_TYPE: Final = {name: format for format, names in _MEDIA_TYPES.items() for name in names}
_OTHER_SPELLINGS: Final = {"jpg": "jpeg", "jpe": "jpeg", "tif": "tiff", "aif": "aiff", "aifc": "aiff", "oga": "ogg"}
# Extensions that name something else for certain. Any other (.php, .v2) tells nothing.
_OTHER_MEDIA: Final = re.compile(
    "wma|wmv|asf|flv|amr|3gp|3g2|mpg|mpeg|m2v|m4v|ts|m2ts|vob|ogv|rm|rmvb|ra|mid|midi|au|caf|ac3|dts|ape|wv|mka|"
    "svg|heic|heif|avif|ico|psd|jxl|jp2|pdf|zip|txt|html|json|csv"
)
# First bytes, and the formats that share them: an .m4a is an .mp4 with audio alone.
_SIGNATURES: Final[tuple[tuple[re.Pattern[bytes], frozenset[str]], ...]] = tuple(
    (re.compile(pattern, re.DOTALL), frozenset(formats.split()))
    for pattern, formats in (
        (rb"(?:RIFF|RF64|RIFX|BW64).{4}WAVE", "wav"),
        (rb"RIFF.{4}AVI ", "avi"),
        (rb"RIFF.{4}WEBP", "webp"),
        (rb"FORM.{4}AIF[FC]", "aiff"),
        (rb"fLaC", "flac"),
        (rb"OggS", "ogg opus"),
        (rb".{4}ftyp(?!avif|avis|heic|heix|heim|heis|hevc|mif1|msf1|crx )", "mp4 m4a mov"),
        (rb".{4}(?:moov|mdat|wide|free|skip|pnot)", "mov mp4 m4a"),
        (rb"\x1aE\xdf\xa3", "webm mkv"),
        (rb"ADIF|\xff[\xf0\xf1\xf8\xf9]", "aac"),
        (rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]", "mp3"),
        (rb"\x89PNG\r\n\x1a\n", "png"),
        (rb"\xff\xd8\xff", "jpeg"),
        (rb"GIF8[79]a", "gif"),
        (rb"BM", "bmp"),
        (rb"II[*+]\x00|MM\x00[*+]", "tiff"),
    )
)
# Streams without a header: players look for their first frame, so anything may precede it.
_MAY_START_ANYHOW: Final = frozenset({"mp3", "aac"})
_HEAD_BYTES: Final = 4096
_ID3_HEADER: Final = 10


def media_type(format: str) -> str:
    """The media type a format is sent on under."""
    return _MEDIA_TYPES[format][0]


def format_named(name: str, modality: Modality, *, at: str) -> str:
    """The format a name stands for (`input_audio.format`); `RowError` where it is none of the modality's."""
    return _of(modality, _OTHER_SPELLINGS.get(name.lower(), name.lower()), shown=name, at=at)


def format_of_media_type(name: str, modality: Modality, *, at: str) -> str:
    """The format of a media type, parameters ignored; `RowError` where it is none of the modality's.

    For the media type of a data: URI and for the Content-Type of a HEAD answer.
    """
    bare = name.partition(";")[0].strip().lower()
    return _of(modality, _BY_MEDIA_TYPE.get(bare), shown=bare, at=at)


def format_of_url(url: str, modality: Modality, *, at: str) -> str | None:
    """The format a URL's extension names; None where it names none, `RowError` where it names another."""
    name = urlsplit(url).path.rpartition("/")[2]
    stem, _, extension = name.rpartition(".")
    extension = _OTHER_SPELLINGS.get(extension.lower(), extension.lower())
    if stem and (extension in _MEDIA_TYPES or _OTHER_MEDIA.fullmatch(extension)):
        return _of(modality, extension, shown=f".{extension}", at=at)
    return None


def format_of_bytes(read: Reader, modality: Modality, *, declared: str | None, at: str) -> str:
    """The declared format, once the first bytes agree, or the one they show; `RowError` for everything else."""
    head, tagged = _head(read)
    shared = next((formats for signature, formats in _SIGNATURES if signature.match(head)), frozenset({""}))
    if shared == {""} and tagged:
        shared = _MAY_START_ANYHOW
    if declared is None:
        return _of(modality, _told_apart(shared, head, modality), shown="what the bytes hold", at=at)
    if declared in shared or (shared == {""} and declared in _MAY_START_ANYHOW):
        return declared
    found = " or ".join(sorted(shared - {""})) or "something else"
    raise row_error("format_contradicted", at, declared=declared, found=found)


def _of(modality: Modality, format: str | None, *, shown: str, at: str) -> str:
    if format in FORMATS[modality]:
        return format
    supported = ", ".join(FORMATS[modality])
    raise row_error("unsupported_format", at, found=shown[:64], modality=modality, supported=supported)


def _head(read: Reader) -> tuple[bytes, bool]:
    """The first bytes behind an ID3 tag, which may precede any audio, and whether there was one."""
    head = read(0, _HEAD_BYTES)
    if head[:3] != b"ID3" or len(head) < _ID3_HEADER:
        return head, False
    size = sum(byte << 7 * place for place, byte in enumerate(reversed(head[6:_ID3_HEADER])))
    return read(_ID3_HEADER + size, _HEAD_BYTES), True


def _told_apart(shared: frozenset[str], head: bytes, modality: Modality) -> str | None:
    candidates = [format for format in FORMATS[modality] if format in shared]
    marks = {"opus": b"OpusHead", "mov": b"ftypqt  ", "mkv": b"matroska"}
    marked = [format for format in candidates if format in marks and marks[format] in head]
    return next(iter(marked or candidates), None)
