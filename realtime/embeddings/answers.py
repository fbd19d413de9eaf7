"""The answer to an embeddings request, from what model servers answered to its calls. Pure."""

import base64
import struct
from collections.abc import Iterable
from typing import Any

import orjson

from anex.core.money import credits
from anex.core.usage import Usage
from inference.backends.faults import ServerFailed
from inference.requests.embedding_request import Call, EmbeddingRequest
from inference.requests.embeddings import cut_vector


def read_vectors(body: dict[str, Any], call: Call) -> list[list[float]]:
    """The vectors a server answered to a call, in the order of its inputs. Raises `ServerFailed` for anything less."""
    data = body.get("data")
    if not isinstance(data, list) or len(data) != len(call.places):
        raise ServerFailed("The model server did not answer with a vector for each input.")
    by_index: dict[object, list[float]] = {}
    for place, entry in enumerate(data):
        told = entry if isinstance(entry, dict) else {}
        index = told.get("index", place)
        by_index[index if type(index) is int else place] = _vector(told.get("embedding"))
    try:
        return [by_index[place] for place in range(len(data))]
    except KeyError:
        raise ServerFailed("The model server left an input without a vector.") from None


def write(
    request: EmbeddingRequest,
    answers: Iterable[tuple[Call, list[list[float]]]],
    *,
    model_id: str,
    usage: Usage,
    charged_nano: int | None = None,
) -> bytes:
    """The JSON of the answer: a vector per input in their order, cut and scaled to length 1, encoded as was asked for.

    What was charged is told where it is named. Raises `ServerFailed` for a vector that is narrower.
    """
    vectors: dict[int, list[float]] = {}
    for call, found in answers:
        vectors |= zip(call.places, found, strict=True)
    data = [
        {"object": "embedding", "index": place, "embedding": _encoded(vectors[place], request)}
        for place in range(len(request.inputs))
    ]
    counts = {"prompt_tokens": usage.input_tokens, "total_tokens": usage.input_tokens}
    told = {} if charged_nano is None else {"credits_charged": credits(charged_nano)}
    return orjson.dumps({"object": "list", "data": data, "model": model_id, "usage": counts, **told})


def _encoded(vector: list[float], request: EmbeddingRequest) -> list[float] | str:
    if len(vector) < request.dimensions:
        raise ServerFailed("The model server answered with vectors that are too short.")
    cut = cut_vector(vector, request.dimensions)
    if request.encoding == "float":
        return cut
    try:
        return base64.b64encode(struct.pack(f"<{len(cut)}f", *cut)).decode()
    except OverflowError:
        raise ServerFailed("The model server answered with numbers that are no 32-bit floats.") from None


def _vector(value: object) -> list[float]:
    if not isinstance(value, list) or not value or not all(type(number) in (float, int) for number in value):
        raise ServerFailed("The model server answered with a vector that is none.")
    return value
