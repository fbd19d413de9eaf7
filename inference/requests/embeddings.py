"""An embedding row: a text, or pictures and a clip beside text; one vector (reference 001, embedding jobs).

A text reaches the model as it is; what carries media reaches it as a chat message, through the model's chat template.
"""

import math
from typing import Any

import msgspec
import orjson

from inference.catalogue.schema import Model
from inference.media.parts import MediaPart
from inference.refusals import row_error
from inference.requests.content import Parts, read_parts, upstream_messages
from inference.requests.envelope import expected
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
    dimensions = _dimensions(body.get("dimensions"), model, options)
    value = body.get("input")
    if type(value) is str:
        if not value:
            raise row_error("empty", "body.input")
        return EmbeddingRow(custom_id, value, dimensions)
    media: list[MediaPart] = []
    return EmbeddingRow(custom_id, _parts(value, model, media), dimensions, tuple(media))


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


def has_answer(body: dict[str, Any]) -> bool:
    """Whether a server's answer carries a vector of numbers."""
    vector = _vector(body)
    return bool(vector) and all(type(number) in (float, int) for number in vector or ())


def cut(row: EmbeddingRow, body: dict[str, Any]) -> dict[str, Any]:
    """The answer with its vector cut to the row's width and scaled to length 1 again."""
    vector = _vector(body) or []
    if len(vector) <= row.dimensions:
        return body
    kept = vector[: row.dimensions]
    length = math.sqrt(math.fsum(number * number for number in kept)) or 1.0
    data = [body["data"][0] | {"embedding": [number / length for number in kept]}]
    return body | {"data": data}


def _vector(body: dict[str, Any]) -> list[Any] | None:
    try:
        vector = body["data"][0]["embedding"]
    except (KeyError, IndexError, TypeError):
        return None
    return vector if isinstance(vector, list) else None


def _parts(value: object, model: Model, media: list[MediaPart]) -> str | Parts:
    """The parts of a row, their media appended to `media`; without media, their text as one string.

    Nothing is put between parts (reference 001, instructions for embedding inputs).
    """
    if not isinstance(value, list):
        raise expected("a string", value, "body.input")
    if not value or not all(isinstance(part, dict) for part in value):
        raise row_error("embedding_list", "body.input")
    parts = read_parts(value, "body.input", model, media)
    if media:
        return parts
    if model.inputs == ("text",):
        raise row_error("embedding_text_parts", "body.input")
    text = "".join(part["text"] for part in parts)
    if not text:
        raise row_error("empty", "body.input")
    return text


def _dimensions(value: object, model: Model, options: RowOptions) -> int:
    widths = model.embedding
    assert widths is not None
    if value is None:
        return options.dimensions or widths.dimensions
    low, high = widths.min_dimensions, widths.dimensions
    if type(value) is not int or not low <= value <= high:
        raise row_error("out_of_range_integer", "body.dimensions", low=low, high=high)
    return value
