"""What is fed with made-up bytes: the reader of lines, of content parts, and of the headers of clips and pictures.

Each takes any bytes and may answer with a row error; whatever else it raises is a fault.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from inference.catalogue import all_models
from inference.media import formats
from inference.media.inline import InlineBytes
from inference.media.lengths import measure
from inference.media.parts import MediaPart, TextPart, read_part
from inference.media.probe import probe_clip, probe_picture
from inference.requests.profiles import NATIVE, OPENAI
from inference.requests.rows import RowError, RowOptions, media_of, parse, upstream_body
from tests.inference.media import clips

MODELS = {model.id: model for model in all_models()}
READ_AS = [
    (MODELS[model_id], RowOptions(profile=profile))
    for model_id in ("gemma4-12b", "qwen3-vl-embedding-2b", "laya")
    for profile in (NATIVE, OPENAI)
]
FORMATS = [(format, modality) for modality, names in formats.FORMATS.items() for format in names]
CORPUS = Path(__file__).parents[1] / "inference" / "corpus.jsonl"


def line(data: bytes) -> None:
    """The first byte chooses model and profile, the rest is a line of an input file."""
    model, options = READ_AS[data[0] % len(READ_AS)] if data else READ_AS[0]
    try:
        row = parse(data[1:], model=model, options=options)
    except RowError as error:
        assert error.message
        return
    assert row.custom_id
    if all(part.data for part in media_of(row)):
        orjson.loads(upstream_body(row, served_name="m", model=model, options=options, max_tokens=100))


def part(data: bytes) -> None:
    """A content part as JSON; in it, `$` stands for the bytes behind the first line end, in base64."""
    text, _, blob = data.partition(b"\n")
    try:
        content = orjson.loads(text.replace(b"$", b64encode(blob)))
    except orjson.JSONDecodeError:
        return
    for model_id in ("gemma4-12b", "qwen3-vl-embedding-2b", "qwen3-14b"):
        try:
            found = read_part(content, at="body.input[0]", model=MODELS[model_id])
        except RowError as error:
            assert error.message
            continue
        assert isinstance(found, TextPart | MediaPart)


def probe(data: bytes) -> None:
    """The first byte chooses the format under which the headers of the rest are read."""
    format, modality = FORMATS[data[0] % len(FORMATS)] if data else FORMATS[0]
    blob = data[1:]

    def read(offset: int, size: int) -> bytes:
        return blob[offset : offset + size]

    try:
        formats.format_of_bytes(read, modality, declared=format, at="x")
    except RowError as error:
        assert error.message
    if modality == "image":
        probe_picture(read, len(blob), format=format)
        return
    clip = probe_clip(read, len(blob), format=format, modality=modality)
    assert clip.milliseconds is None or clip.milliseconds >= 0
    if blob:
        inline = MediaPart(
            at="x",
            type="x",
            modality=modality,
            format=format,
            data=InlineBytes(b64encode(blob).decode()),
            declared_ms=None,
        )
        assert measure(inline).source in ("read", "estimated")


def seeds(name: str) -> Iterator[bytes]:
    """Inputs to begin with."""
    if name == "line":
        cases = [json.loads(each) for each in CORPUS.read_text().splitlines()]
        yield from (bytes([place % 6]) + case["line"].encode() for place, case in enumerate(cases) if "line" in case)
        return
    for place, (format, modality) in enumerate(FORMATS):
        blob = clips.make(format)
        if name == "probe":
            yield bytes([place]) + blob[:20_000]
            continue
        uri = f"data:{clips.MEDIA_TYPES[format]};base64,$"
        yield orjson.dumps(clips.by_url(modality, uri)) + b"\n" + blob[:2_000]
        for seconds in (1.5, 1e306):
            yield (
                orjson.dumps(clips.by_url(modality, f"https://x.example/a.{format}", duration_seconds=seconds)) + b"\n"
            )


TARGETS: dict[str, Callable[[bytes], None]] = {"line": line, "part": part, "probe": probe}
