"""An embedding row: a text, or pictures and a clip beside text; one vector (reference 001, embedding jobs).

A text reaches the model as it is; what carries media reaches it as a chat message, through the model's chat template.
"""

import math
from typing import Any

import msgspec
import orjson

from inference.catalogue.schema import Model
from inference.media.parts import ROW_PARTS, MediaPart, PartRules
from inference.refusals import expected, row_error
from inference.requests.content import Parts, read_parts, upstream_messages
from inference.requests.options import RowOptions


class EmbeddingRow(msgspec.Struct, frozen=True):
    """A checked row; `dimensions` is the width of its vector, the model's own where neither row nor job names one.

    `input` is a list of parts only where it carries media: their places, and the pictures and clips in `media`.
    """

    custom_id: str
    input: str | Parts
    dimensions: int
    media: tuple[MediaPart, ...] = ()


def read(custom_id: str, body: dict[str, Any], *, model: Model, options: RowOptions) -> EmbeddingRow:
    """The row a body holds, or a `RowError`. Used are input, dimensions and encoding_format; others are ignored."""
    if "messages" in body:
        raise row_error("messages_in_embedding", "body.messages")
    if body.get("encoding_format", "float") not in ("float", None):
        raise row_error("encoding_not_float", "body.encoding_format")
    dimensions = read_dimensions(body.get("dimensions"), model, options.dimensions)
    value = body.get("input")
    if type(value) is str:
        if not value:
            raise row_error("empty", "body.input")
        return EmbeddingRow(custom_id, value, dimensions)
    if not isinstance(value, list):
        raise expected("a string", value, "body.input")
    if not value or not all(isinstance(part, dict) for part in value):
        raise row_error("embedding_list", "body.input")
    given, media = read_content(value, "body.input", model=model)
    return EmbeddingRow(custom_id, given, dimensions, media)


def write(row: EmbeddingRow, *, served_name: str) -> bytes:
    """The JSON for an OpenAI-compatible server. The full width is asked for: not every server can cut a vector."""
    if isinstance(row.input, str):
        sent: dict[str, Any] = {"input": row.input}
    else:
        sent = {"messages": upstream_messages(as_messages(row.input), row.media)}
    return orjson.dumps({"model": served_name, **sent, "encoding_format": "float"})


def as_messages(parts: Parts) -> list[dict[str, Any]]:
    """Parts as the one message of a chat that a model embeds."""
    return [{"role": "user", "content": parts}]


def has_answer(row: EmbeddingRow, body: dict[str, Any]) -> bool:
    """Whether a server's answer carries a vector of numbers, as wide as the row asks at least."""
    vector = _vector(body) or []
    return len(vector) >= row.dimensions and all(type(number) in (float, int) for number in vector)


def cut(row: EmbeddingRow, body: dict[str, Any]) -> dict[str, Any]:
    """The answer with its vector cut to the row's width and scaled to length 1 again."""
    vector = _vector(body) or []
    if len(vector) <= row.dimensions:
        return body
    return body | {"data": [body["data"][0] | {"embedding": cut_vector(vector, row.dimensions)}]}


def cut_vector(vector: list[float], dimensions: int) -> list[float]:
    """The vector's first numbers, scaled to length 1 again where some were cut off."""
    if len(vector) <= dimensions:
        return vector
    kept = vector[:dimensions]
    length = math.sqrt(math.fsum(number * number for number in kept)) or 1.0
    return [number / length for number in kept]


def _vector(body: dict[str, Any]) -> list[Any] | None:
    try:
        vector = body["data"][0]["embedding"]
    except (KeyError, IndexError, TypeError):
        return None
    return vector if isinstance(vector, list) else None


def read_content(
    value: list[Any], at: str, *, model: Model, rules: PartRules = ROW_PARTS
) -> tuple[str | Parts, tuple[MediaPart, ...]]:
    """The parts at path `at` and their media; without media, their text as one string. Or a `RowError`.

    Nothing is put between parts (reference 001, instructions for embedding inputs).
    """
    media: list[MediaPart] = []
    parts = read_parts(value, at, model, media, rules=rules)
    if media:
        return parts, tuple(media)
    if model.inputs == ("text",):
        raise row_error("embedding_text_parts", at)
    text = "".join(part["text"] for part in parts)
    if not text:
        raise row_error("empty", at)
    return text, ()


def read_dimensions(value: object, model: Model, default: int | None = None) -> int:
    """The width asked for, else the default, else the model's own; or a `RowError`."""
    widths = model.embedding
    assert widths is not None
    if value is None:
        return default or widths.dimensions
    low, high = widths.min_dimensions, widths.dimensions
    if type(value) is not int or not low <= value <= high:
        if low == high:
            raise row_error("only_width", "body.dimensions", width=high, model=model.id)
        raise row_error("out_of_range_integer", "body.dimensions", low=low, high=high)
    return value
