"""A length is declared, read, estimated or unknown, in that order (reference 001, duration_seconds)."""

from fractions import Fraction
from typing import Any

import pytest

from inference.media.lengths import HOSTED_BYTES, Hosted, Measured, estimate_ms, measure
from inference.media.parts import MediaPart, read_part
from tests.inference.media import clips
from tests.inference.media.clips import by_url, data_uri, input_audio
from tests.inference.media.models import NEMOTRON


class Counted:
    """A host that serves ranges and remembers how much was fetched."""

    def __init__(self, data: bytes) -> None:
        self.data, self.fetched = data, 0

    def read(self, offset: int, size: int) -> bytes:
        self.fetched += size
        return self.data[offset : offset + size]


def part(value: Any) -> MediaPart:
    found = read_part(value, at="x", model=NEMOTRON)
    assert isinstance(found, MediaPart)
    return found


def url(modality: str, format: str, **more: Any) -> MediaPart:
    return part(by_url(modality, f"https://a.example/clip.{format}", **more))


def test_a_picture_has_no_length() -> None:
    assert measure(url("image", "png")) == Measured(modality="image")


def test_a_declared_length_is_taken_as_it_is() -> None:
    measured = measure(part(input_audio("wav", clips.audio("wav"), duration_seconds=7)))
    assert (measured.milliseconds, measured.source) == (7000, "declared")


def test_an_inline_video_of_declared_length_still_tells_its_frame_rate() -> None:
    measured = measure(part(by_url("video", data_uri("mp4", clips.video("mp4")), duration_seconds=7)))
    assert measured == Measured(
        modality="video", milliseconds=7000, source="declared", frame_rate=Fraction(10), frames=15
    )


def test_a_frame_rate_is_exact() -> None:
    ntsc = clips.video("mp4", frames=30, fps=Fraction(30_000, 1001))
    assert measure(part(by_url("video", data_uri("mp4", ntsc)))).frame_rate == Fraction(30_000, 1001)


@pytest.mark.parametrize("format", ["mp3", "aac"])
def test_a_stream_that_states_no_length_is_counted_frame_by_frame(format: str) -> None:
    data = clips.audio(format, 60.0)
    headless = data[data.index(b"\xff\xfb" if format == "mp3" else b"\xff\xf1", 500) :]
    measured = measure(part(input_audio(format, headless)))
    assert measured.source == "read"
    assert measured.milliseconds
    assert 59_000 < measured.milliseconds < 60_100


def test_a_clip_whose_headers_are_gone_is_estimated_from_its_size() -> None:
    data = b"RIFF\0\0\0\0AVI " + bytes(999_988)
    measured = measure(part(by_url("video", data_uri("avi", data))))
    assert (measured.milliseconds, measured.source) == (8_000, "estimated")


def test_nobody_is_asked_about_a_url_by_itself() -> None:
    assert measure(url("video", "mp4")) == Measured(modality="video")


def test_a_hosted_clip_of_known_size_is_estimated() -> None:
    measured = measure(url("audio", "mp3"), hosted=Hosted(80_000))
    assert (measured.milliseconds, measured.source) == (10_000, "estimated")


def test_a_hosted_clip_of_no_format_stays_unknown() -> None:
    assert measure(part(by_url("audio", "https://a.example/clip")), hosted=Hosted(80_000)).source == "unknown"


@pytest.mark.parametrize("format", ["mp4", "mov", "webm", "mkv", "avi"])
def test_a_hosted_clip_is_read_by_ranges(format: str) -> None:
    host = Counted(clips.video(format, frames=40))
    measured = measure(url("video", format), hosted=Hosted(len(host.data), host.read))
    assert (measured.milliseconds, measured.source, measured.frames) == (4_000, "read", 40)


def test_a_long_hosted_clip_costs_its_headers() -> None:
    movie = clips.video("mp4")
    place = movie.index(b"mdat") - 4
    boxed = movie[:place] + (50_000_000).to_bytes(4, "big") + b"free" + bytes(50_000_000 - 8) + movie[place:]
    host = Counted(boxed)
    assert measure(url("video", "mp4"), hosted=Hosted(len(boxed), host.read)).milliseconds
    assert host.fetched < HOSTED_BYTES


def test_a_host_that_fails_is_not_our_answer() -> None:
    def broken(offset: int, size: int) -> bytes:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        measure(url("video", "mp4"), hosted=Hosted(1000, broken))
    assert measure(part(input_audio("wav", clips.audio("wav")))).source == "read"


def test_a_host_that_sends_less_than_it_said_leaves_an_estimate() -> None:
    measured = measure(url("video", "mp4"), hosted=Hosted(1000, lambda offset, size: b"short"))
    assert (measured.milliseconds, measured.source) == (16, "estimated")


def test_estimates_are_rounded_up() -> None:
    assert estimate_ms(1, "mp4") == 1
    assert estimate_ms(62_501, "mp4") == 1001
    assert estimate_ms(10, None) is None
