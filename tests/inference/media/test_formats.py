"""Formats are told by name, media type, extension and first bytes; what contradicts itself is refused."""

from typing import Any

import pytest

from inference.media.formats import format_of_bytes, format_of_media_type, format_of_url, media_type
from inference.media.parts import read_part
from inference.refusals import RowError
from tests.inference.media import clips
from tests.inference.media.clips import by_url, data_uri, input_audio
from tests.inference.media.models import NEMOTRON


def told(data: bytes, modality: Any, declared: str | None = None) -> str:
    return format_of_bytes(lambda offset, size: data[offset : offset + size], modality, declared=declared, at="x")


def refusal(part: Any) -> RowError:
    with pytest.raises(RowError) as error:
        read_part(part, at="part", model=NEMOTRON)
    return error.value


@pytest.mark.parametrize(("sent", "claimed"), [("wav", "mp3"), ("flac", "ogg"), ("m4a", "aac"), ("opus", "wav")])
def test_audio_that_contradicts_its_format_is_refused(sent: str, claimed: str) -> None:
    error = refusal(input_audio(claimed, clips.audio(sent)))
    assert error.code == "format_contradicted"
    assert error.message.startswith(f"part.input_audio.data is declared as {claimed}, but its first bytes are")
    assert sent in error.message


@pytest.mark.parametrize(("sent", "claimed"), [("png", "jpeg"), ("webp", "gif"), ("mkv", "mp4"), ("avi", "webm")])
def test_a_data_uri_that_contradicts_its_type_is_refused(sent: str, claimed: str) -> None:
    uri = data_uri(claimed, clips.make(sent))
    assert refusal(by_url(clips.modality_of(claimed), uri)).code == "format_contradicted"


def test_bytes_of_nothing_known_contradict_what_has_a_header() -> None:
    assert "something else" in refusal(input_audio("wav", b"<html>" + bytes(100))).message


@pytest.mark.parametrize(("one", "other"), [("mp4", "mov"), ("mov", "mp4"), ("webm", "mkv")])
def test_siblings_of_one_container_do_not_contradict(one: str, other: str) -> None:
    assert told(clips.video(one), "video", declared=other) == other


@pytest.mark.parametrize("format", ["mp3", "aac"])
@pytest.mark.parametrize("junk", [b"\0" * 64, b"ID3\x04\0\0\0\0\x02\x00" + bytes(256)])
def test_a_stream_without_a_header_may_start_anyhow(format: str, junk: bytes) -> None:
    assert told(junk + clips.audio(format), "audio", declared=format) == format


def test_a_tag_before_a_flac_is_looked_through() -> None:
    tag = b"ID3\x04\0\0\0\0\x02\x00" + bytes(256)
    assert told(tag + clips.audio("flac"), "audio", declared="flac") == "flac"
    with pytest.raises(RowError):
        told(tag + clips.audio("flac"), "audio", declared="mp3")


@pytest.mark.parametrize("brand", [b"isom", b"iso5", b"avc1", b"dash", b"MSNV", b"M4V ", b"qt  "])
def test_every_brand_of_mp4_is_one(brand: bytes) -> None:
    assert told(b"\0\0\0\x18ftyp" + brand + bytes(12), "video", declared="mp4") == "mp4"


@pytest.mark.parametrize("brand", [b"avif", b"heic", b"mif1"])
def test_pictures_in_an_mp4_container_are_none_of_the_formats(brand: bytes) -> None:
    with pytest.raises(RowError, match="not a supported image format; supported are png, jpeg, webp, gif, bmp, tiff"):
        told(b"\0\0\0\x18ftyp" + brand + bytes(12), "image")


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (input_audio("wma", b"x"), "wma"),
        (by_url("audio", "https://a.example/x.wma"), ".wma"),
        (by_url("audio", "https://a.example/x.mp4"), ".mp4"),
        (by_url("video", "https://a.example/x.mp3"), ".mp3"),
        (by_url("video", "https://a.example/x.mpg?a=b"), ".mpg"),
        (by_url("image", "https://a.example/x.SVG"), ".svg"),
        (by_url("image", "data:image/svg+xml;base64,AAAA"), "image/svg+xml"),
        (by_url("image", "data:video/mp4;base64,AAAA"), "video/mp4"),
        (by_url("audio", "data:application/octet-stream;base64,AAAA"), "application/octet-stream"),
        (by_url("video", "data:;base64,AAAA"), "what the bytes hold"),
    ],
)
def test_an_unsupported_format_is_named(part: Any, found: str) -> None:
    error = refusal(part)
    assert error.code == "unsupported_format"
    assert f"{found} is not a supported" in error.message


@pytest.mark.parametrize(
    ("url", "format"),
    [
        ("https://a.example/x.jpg", "jpeg"),
        ("https://a.example/x.TIF", "tiff"),
        ("https://a.example/x", None),
        ("https://a.example/x.png/", None),
        ("https://a.example/.png", None),
        ("https://a.example/show.php?f=x.wma", None),
        ("https://a.example/v1.2", None),
        ("https://a.png", None),
    ],
)
def test_an_extension_tells_the_format_or_nothing(url: str, format: str | None) -> None:
    assert format_of_url(url, "image", at="x") == format


def test_media_types_have_other_spellings_and_parameters() -> None:
    assert format_of_media_type("Audio/X-WAV; codecs=1", "audio", at="x") == "wav"
    assert media_type("wav") == "audio/wav"
