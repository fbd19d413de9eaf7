"""An embedding row: one text, one vector. The text reaches the model as it is (reference 001, embedding jobs)."""

import math
from typing import Any

import msgspec
import orjson

from inference.catalogue.schema import Model
from inference.refusals import RowError, row_error
from inference.requests.envelope import expected
from inference.requests.options import RowOptions


class EmbeddingRow(msgspec.Struct, frozen=True):
    """A checked row; `dimensions` is the width of its vector, the model's own where neither row nor job names one."""

    custom_id: str
    input: str
    dimensions: int


def read(custom_id: str, body: dict[str, Any], *, model: Model, options: RowOptions) -> EmbeddingRow:
    """The row a body holds, or a `RowError`. Used are input, dimensions and encoding_format; others are ignored."""
    if "messages" in body:
        raise row_error("messages_in_embedding", "body.messages")
    if body.get("encoding_format", "float") not in ("float", None):
        raise row_error("encoding_not_float", "body.encoding_format")
    return EmbeddingRow(
        custom_id, _input(body.get("input"), model), _dimensions(body.get("dimensions"), model, options)
    )


def write(row: EmbeddingRow, *, served_name: str) -> bytes:
    """The JSON for an OpenAI-compatible server. The full width is asked for: not every server can cut a vector."""
    return orjson.dumps({"model": served_name, "input": row.input, "encoding_format": "float"})


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


def _input(value: object, model: Model) -> str:
    if isinstance(value, str):
        if not value:
            raise row_error("empty", "body.input")
        return value
    if not isinstance(value, list):
        raise expected("a string", value, "body.input")
    if not value or not all(isinstance(part, dict) for part in value):
        raise row_error("embedding_list", "body.input")
    raise _parts_refused(value, model)


def _parts_refused(parts: list[Any], model: Model) -> RowError:
    """Content parts carry media, which cannot be priced yet; a part the model never takes is named as such."""
    for index, part in enumerate(parts):
        kind = part.get("type")
        modality = {"text": "text", "image_url": "image", "video_url": "video"}.get(kind)
        at = f"body.input[{index}].type"
        if modality is None:
            shown = kind[:64] if isinstance(kind, str) else "(none)"
            return row_error("unknown_part", at, type=shown, supported="text, image_url, video_url")
        if modality not in model.inputs:
            return row_error("no_encoder", at, model=model.id, modality=modality)
        if modality != "text":
            return row_error("media_not_served", at, model=model.id, modality=modality)
    return row_error("embedding_text_parts", "body.input")


def _dimensions(value: object, model: Model, options: RowOptions) -> int:
    widths = model.embedding
    assert widths is not None
    if value is None:
        return options.dimensions or widths.dimensions
    low, high = widths.min_dimensions, widths.dimensions
    if type(value) is not int or not low <= value <= high:
        raise row_error("out_of_range_integer", "body.dimensions", low=low, high=high)
    return value
