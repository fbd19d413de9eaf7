"""A clip or picture of each of the 19 formats is recognised, measured and counted."""

import pytest

from inference.catalogue.schema import Model
from inference.media.formats import FORMATS
from inference.media.lengths import measure
from inference.media.parts import MediaPart, read_part
from inference.media.probe import Picture, probe_picture
from inference.media.rates import count_media
from tests.inference.media import clips
from tests.inference.media.models import NEMOTRON

EVERY = [format for formats in FORMATS.values() for format in formats]
CLIPS = [format for format in EVERY if format not in clips.IMAGES]


def read(part: object, model: Model = NEMOTRON) -> MediaPart:
    found = read_part(part, at="body.messages[0].content[0]", model=model)
    assert isinstance(found, MediaPart)
    return found


def test_there_are_nineteen() -> None:
    assert len(EVERY) == 19
    assert set(EVERY) == clips.AUDIO.keys() | clips.VIDEO.keys() | set(clips.IMAGES)


@pytest.mark.parametrize("format", EVERY)
def test_a_data_uri_of_each_format_is_taken(format: str) -> None:
    data, modality = clips.make(format), clips.modality_of(format)
    part = read(clips.by_url(modality, clips.data_uri(format, data)))
    assert (part.modality, part.format, part.url) == (modality, format, None)
    assert part.data
    assert part.data.size == len(data)
    assert part.data.read(0, len(data)) == data


@pytest.mark.parametrize("format", EVERY)
def test_a_data_uri_without_a_type_is_told_from_its_bytes(format: str) -> None:
    uri = clips.data_uri(format, clips.make(format)).replace(clips.MEDIA_TYPES[format], "", 1)
    assert read(clips.by_url(clips.modality_of(format), uri)).format == format


@pytest.mark.parametrize("format", FORMATS["audio"])
def test_input_audio_of_each_format_is_taken(format: str) -> None:
    part = read(clips.input_audio(format, clips.audio(format)))
    assert (part.modality, part.format) == ("audio", format)


@pytest.mark.parametrize("format", EVERY)
def test_a_url_of_each_format_is_told_from_its_extension(format: str) -> None:
    url = f"https://example.com/a/clip.{format.upper()}?token=1#end"
    part = read(clips.by_url(clips.modality_of(format), url))
    assert (part.format, part.url, part.data) == (format, url, None)


@pytest.mark.parametrize("format", CLIPS)
def test_a_clip_of_each_format_is_measured(format: str) -> None:
    """Coders of sound work in frames of up to 24 ms and add one or two; everything else is exact."""
    part = read(clips.by_url(clips.modality_of(format), clips.data_uri(format, clips.make(format))))
    measured = measure(part)
    assert measured.source == "read"
    assert measured.milliseconds
    slack = 50 if format in ("mp3", "aac", "opus") else 0
    assert 1500 <= measured.milliseconds <= 1500 + slack
    if part.modality == "video":
        assert (measured.frame_rate, measured.frames) == (10, 15)


@pytest.mark.parametrize("format", clips.IMAGES)
def test_a_picture_of_each_format_tells_its_size(format: str) -> None:
    part = read(clips.by_url("image", clips.data_uri(format, clips.picture(format))))
    assert part.data
    assert probe_picture(part.data.read, part.data.size, format=format) == Picture(123, 45)


@pytest.mark.parametrize("format", EVERY)
def test_each_format_becomes_tokens(format: str) -> None:
    """Reference 002: 3,328 for a picture, 12.5 a second of sound, 256 for each of ceil(1.5 s × 2) + 1 frames."""
    modality = clips.modality_of(format)
    part = read(clips.by_url(modality, clips.data_uri(format, clips.make(format))))
    usage = count_media([measure(part)], model=NEMOTRON, row="x")
    expected = {"image": {3328}, "audio": {19, 20}, "video": {256 * 4}}
    assert usage.input_tokens in expected[modality]
    assert (usage.images, usage.clips) == ((1, 0) if modality == "image" else (0, 1))
