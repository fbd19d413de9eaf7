"""Clips and parts made to hurt: each ends as a length, an estimate or one of the documented refusals."""

import resource
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anex.core.errors import Unavailable
from anex.core.helper_process import HelperProcess
from inference.media import probe
from inference.media.formats import FORMATS
from inference.media.lengths import measure
from inference.media.parts import MEDIA_PARTS, MediaPart, TextPart, read_part
from inference.media.probe import Clip, Patience, Picture, probe_clip, probe_picture
from inference.refusals import RowError
from tests.inference.media import clips
from tests.inference.media.clips import by_url, data_uri
from tests.inference.media.models import NEMOTRON

CLIPS = [*clips.AUDIO, *clips.VIDEO]
EVERY = [*CLIPS, *clips.IMAGES]
DOCUMENTED = {
    *("wrong_type", "missing", "empty", "unknown_part", "no_encoder", "invalid_media_url", "not_base64_uri"),
    *("data_prefix", "invalid_base64", "media_too_large", "unsupported_format", "format_contradicted"),
    *("invalid_duration", "media_url_too_long"),
}


def probed(data: bytes, format: str) -> Clip:
    modality: Any = clips.modality_of(format)
    return probe_clip(lambda at, size: data[at : at + size], len(data), format=format, modality=modality)


def sized(data: bytes, format: str) -> Picture | None:
    return probe_picture(lambda at, size: data[at : at + size], len(data), format=format)


def box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), name) + content


def png(width: int, height: int) -> bytes:
    """A picture that inflates to three bytes a pixel, if anybody lets it."""
    chunks = (b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"IDAT" + zlib.compress(bytes(1 << 20)))
    packed = (struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@pytest.mark.parametrize("format", CLIPS)
def test_a_clip_cut_anywhere_has_a_length_all_the_same(format: str) -> None:
    data = clips.make(format)
    for kept in (16, 64, 200, len(data) // 3, len(data) // 2, len(data) - 1):
        try:
            part = read_part(by_url(clips.modality_of(format), data_uri(format, data[:kept])), at="x", model=NEMOTRON)
        except RowError as error:
            assert error.code in DOCUMENTED
            continue
        assert isinstance(part, MediaPart)
        measured = measure(part)
        assert measured.source in ("read", "estimated")
        assert measured.milliseconds


def test_a_picture_of_a_billion_pixels_costs_its_header() -> None:
    assert sized(png(40_000, 40_000), "png") == Picture(40_000, 40_000)


def test_a_picture_under_a_wrong_name_has_no_size() -> None:
    assert sized(clips.picture("gif"), "png") is None
    assert sized(b"", "png") is None


def test_a_header_that_claims_a_century_is_not_believed() -> None:
    data = clips.video("mp4")
    place = data.index(b"mvhd") + 4 + 12
    for name in (b"mdhd", b"tkhd"):
        data = data.replace(name, b"free")
    endless = data[:place] + struct.pack(">II", 1, 2**32 - 1) + data[place + 8 :]
    assert probed(endless, "mp4").milliseconds is None


@pytest.mark.parametrize("target", [b"file:///etc/passwd\0", b"https://127.0.0.1:1/x.mov\0", b"/etc/passwd\0"])
def test_a_movie_that_refers_to_something_else_does_not_reach_it(target: bytes) -> None:
    """An external data reference and a reference movie: the child has no descriptor left to open either with."""
    reference = box(b"rdrf", struct.pack(">I4sI", 0, b"url ", len(target)) + target)
    movie = box(b"ftyp", b"qt  " + bytes(8)) + box(b"moov", box(b"rmra", box(b"rmda", reference)))
    assert probed(movie, "mov") == Clip()
    assert probed(clips.video("mov"), "mov").milliseconds == 1500


def test_the_child_has_no_descriptor_left() -> None:
    assert probed(clips.video("mov"), "mov").milliseconds
    process = probe._child._process
    assert process
    assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (3, 3)
    assert sorted(path.name for path in Path(f"/proc/{process.pid}/fd").iterdir()) == ["0", "1", "2"]


def test_a_table_of_two_billion_entries_costs_half_a_second_and_the_child() -> None:
    data = clips.audio("m4a")
    place = data.index(b"stts") + 8
    assert probed(data[:place] + b"\x7f\xff\xff\xff" + data[place + 4 :], "m4a") == Clip()
    assert probed(data, "m4a").milliseconds == 1500


def test_boxes_without_end_end() -> None:
    nested = b""
    for _ in range(2000):
        nested = box(b"moov", nested)
    assert probed(box(b"ftyp", b"isom" + bytes(8)) + nested, "mp4").milliseconds is None
    ebml = b"\x1aE\xdf\xa3\x93B\x82\x88matroska" + b"\x18S\x80g\x01\xff\xff\xff\xff\xff\xff\xff" * 10_000
    assert probed(ebml, "mkv").milliseconds is None


def test_the_next_clip_is_read_after_one_that_ended_the_child() -> None:
    assert probe_clip(lambda at, size: b"", 10**9, format="mp4", modality="video") == Clip()
    assert probed(clips.video("mp4"), "mp4").milliseconds == 1500


def test_a_job_of_hostile_headers_is_estimated_by_size_once_patience_is_over() -> None:
    data = clips.audio("m4a")
    place = data.index(b"stts") + 8
    hostile = data[:place] + b"\x7f\xff\xff\xff" + data[place + 4 :]
    bad, good = (read_part(by_url("audio", data_uri("m4a", each)), at="x", model=NEMOTRON) for each in (hostile, data))
    assert isinstance(bad, MediaPart)
    assert isinstance(good, MediaPart)
    patience = Patience(0.9)
    assert [measure(good, patience=patience).source for _ in range(3)] == ["read"] * 3
    assert not patience.over
    assert [measure(bad, patience=patience).source for _ in range(2)] == ["estimated"] * 2
    assert patience.over
    process = probe._child._process
    assert measure(good, patience=patience).source == "estimated"
    assert probe._child._process is process
    assert measure(good, patience=Patience()).source == "read"


def test_a_reader_that_does_not_start_is_no_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise every clip would be priced by its size, and nobody would know why."""
    monkeypatch.setattr(probe, "_child", HelperProcess("inference.media.no_such_module", limit_s=30))
    with pytest.raises(Unavailable):
        probed(clips.video("mp4"), "mp4")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
ADDRESSES = (
    st.text(max_size=40)
    | st.text(max_size=40).map("https://{}".format)
    | st.from_regex(r"data:(audio|video|image)/[a-z]{2,5}(;base64)?,[A-Za-z0-9+/=]{0,40}", fullmatch=True)
    | st.builds(data_uri, st.sampled_from(EVERY), st.binary(max_size=60))
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "url": ADDRESSES | JSON,
        "data": st.text("ABC+/=é", max_size=24) | JSON,
        "format": st.sampled_from([*FORMATS["audio"], "wma", "mp4"]) | JSON,
        "duration_seconds": st.floats() | JSON,
    },
)


@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(kind=st.sampled_from([*MEDIA_PARTS, "text"]) | JSON, body=BODIES | JSON, part=st.none() | JSON)
def test_any_part_is_read_or_refused_in_documented_words(kind: Any, body: Any, part: Any) -> None:
    tried = part if part is not None else {"type": kind, **({kind: body} if isinstance(kind, str) else {})}
    try:
        assert isinstance(read_part(tried, at="x", model=NEMOTRON), MediaPart | TextPart)
    except RowError as error:
        assert error.code in DOCUMENTED


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    format=st.sampled_from(EVERY),
    wounds=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=12),
    kept=st.floats(0.01, 1),
)
def test_a_wounded_file_is_sized_or_refused(format: str, wounds: list[tuple[float, bytes]], kept: float) -> None:
    """Bytes overwritten anywhere, mostly in the headers, and the rest cut off."""
    data = bytearray(clips.make(format))
    for where, bytes_ in wounds:
        place = int(where**3 * (len(data) - 1))
        data[place : place + len(bytes_)] = bytes_
    hurt = bytes(data[: max(1, int(len(data) * kept))])
    modality = clips.modality_of(format)
    try:
        part = read_part(by_url(modality, data_uri(format, hurt)), at="x", model=NEMOTRON)
    except RowError as error:
        assert error.code in DOCUMENTED
        return
    assert isinstance(part, MediaPart)
    measured = measure(part)
    if modality == "image":
        found = sized(hurt, format)
        assert found is None or min(found.width, found.height) > 0
    else:
        assert measured.milliseconds
