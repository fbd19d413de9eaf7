"""An embeddings request: its body read and checked, and what a model server is sent for it. Pure.

References 000 (embeddings) and 001 (realtime embeddings); 003 for the shape of the latter.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, Literal

import msgspec
import orjson
from msgspec import Struct

from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.media.formats import Modality
from inference.media.parts import EMBEDDING_PARTS, MediaPart
from inference.refusals import RowError, expected, row_error
from inference.requests import embeddings
from inference.requests.bodies import check_known, ignored_fields, refused
from inference.requests.chat_request import check_counts, check_inline
from inference.requests.chat_upstream import most_media
from inference.requests.content import Parts
from inference.requests.profiles import Profile

MOST_ARRAYS: Final = 16
MOST_PARTS: Final = 16
MOST_CHARACTERS: Final = 262_144
MOST_CHARACTERS_IN_ALL: Final = 2_097_152
_MOST_IN_ONE: Final[dict[Modality, int]] = {"image": 4, "video": 1}
_KNOWN: Final = frozenset({"model", "input", "dimensions", "encoding_format"})
# What a tokenizer may put around a text.
_PER_INPUT: Final = 16

Encoding = Literal["float", "base64"]


class Content(Struct, frozen=True):
    """One input with media: its parts, the places of media marked, and the media."""

    parts: Parts
    media: tuple[MediaPart, ...]


class EmbeddingRequest(Struct, frozen=True, kw_only=True):
    """A checked request: one vector per input, in order, `dimensions` wide. `ignored` fields are not applied."""

    inputs: tuple[str | Content, ...]
    dimensions: int
    encoding: Encoding
    ignored: tuple[str, ...] = ()

    @property
    def media(self) -> tuple[MediaPart, ...]:
        """The pictures and clips of all inputs."""
        return tuple(part for given in self.inputs if not isinstance(given, str) for part in given.media)


class Call(Struct, frozen=True):
    """A request to a model server and the places of its vectors among the inputs."""

    places: tuple[int, ...]
    body: bytes


def read(body: dict[str, Any], *, model: Model, profile: Profile) -> EmbeddingRequest:
    """The request a body holds, or the refusal of its surface."""
    try:
        check_known(body, _KNOWN, profile=profile)
        encoding = _encoding(body.get("encoding_format"))
        dimensions = embeddings.read_dimensions(body.get("dimensions"), model)
        inputs = _inputs(body.get("input"), model, profile)
        check_inline([part for given in inputs if not isinstance(given, str) for part in given.media], profile)
    except RowError as error:
        raise refused(error, profile) from None
    ignored = () if profile.refuses_unknown else ignored_fields(body, _KNOWN)
    return EmbeddingRequest(inputs=inputs, dimensions=dimensions, encoding=encoding, ignored=ignored)


def with_media(request: EmbeddingRequest, media: Sequence[MediaPart]) -> EmbeddingRequest:
    """The request with its media replaced, part for part in the same order."""
    left = iter(media)
    inputs = tuple(
        given if isinstance(given, str) else Content(given.parts, tuple(islice(left, len(given.media))))
        for given in request.inputs
    )
    return msgspec.structs.replace(request, inputs=inputs)


def write(request: EmbeddingRequest, *, served_name: str) -> list[Call]:
    """What a server is sent: all texts in one request, each input with media in one of its own."""
    base = {"model": served_name, "encoding_format": "float"}
    texts = [(place, given) for place, given in enumerate(request.inputs) if isinstance(given, str)]
    calls = [
        Call((place,), embeddings.write(_as_row(given, request.dimensions), served_name=served_name))
        for place, given in enumerate(request.inputs)
        if not isinstance(given, str)
    ]
    if texts:
        body = orjson.dumps(base | {"input": [text for _, text in texts]})
        calls.insert(0, Call(tuple(place for place, _ in texts), body))
    return calls


def most_usage(request: EmbeddingRequest, model: Model) -> Usage:
    """The most a request can consume: a token of text is at least a byte, no input is more than the context."""
    context = model.context_tokens
    tokens = sum(
        min(context, len(given.encode()) + _PER_INPUT) if isinstance(given, str) else context
        for given in request.inputs
    )
    media = request.media
    return Usage(input_tokens=tokens) + most_media(media, model) if media else Usage(input_tokens=tokens)


def _encoding(value: object) -> Encoding:
    if value is None or value == "float":
        return "float"
    if value == "base64":
        return "base64"
    raise row_error("unknown_encoding", "body.encoding_format")


def _as_row(given: Content, dimensions: int) -> embeddings.EmbeddingRow:
    return embeddings.EmbeddingRow("", given.parts, dimensions, given.media)


def _inputs(value: object, model: Model, profile: Profile) -> tuple[str | Content, ...]:
    at = "body.input"
    if isinstance(value, str):
        return (_text(value, at),)
    if not isinstance(value, list):
        raise expected("a string or an array", value, at)
    if not value:
        raise row_error("empty", at)
    if len(value) > profile.most_inputs:
        raise row_error("too_many_inputs", at, count=len(value), most=profile.most_inputs)
    first = value[0]
    if isinstance(first, str):
        return _texts(value, at)
    if type(first) is int or (isinstance(first, list) and first and type(first[0]) is int):
        raise row_error("token_ids", at)
    if not profile.takes_media:
        raise row_error("text_only", f"{at}[0]")
    if isinstance(first, dict):
        raise row_error("wrong_type", f"{at}[0]", expected="a string or an array: put the parts of an input into one")
    if not isinstance(first, list):
        raise row_error("wrong_type", f"{at}[0]", expected="a string or an array of content parts")
    return _contents(value, at, model)


def _texts(values: list[Any], at: str) -> tuple[str, ...]:
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise row_error("mixed_inputs", f"{at}[{index}]", expected="a string")
    texts = tuple(_text(value, f"{at}[{index}]") for index, value in enumerate(values))
    _check_total(sum(map(len, texts)), at)
    return texts


def _text(value: str, at: str) -> str:
    if not value:
        raise row_error("empty", at)
    if len(value) > MOST_CHARACTERS:
        raise row_error("text_too_long", at, count=f"{len(value):,}", most=f"{MOST_CHARACTERS:,}", where=" per input")
    return value


def _contents(values: list[Any], at: str, model: Model) -> tuple[str | Content, ...]:
    if len(values) > MOST_ARRAYS:
        raise row_error("too_many_inputs", at, count=f"{len(values)} content-array", most=MOST_ARRAYS)
    inputs = tuple(_content(value, f"{at}[{index}]", model) for index, value in enumerate(values))
    media = [part for given in inputs if isinstance(given, Content) for part in given.media]
    if len(media) > MOST_PARTS:
        part = media[MOST_PARTS]
        items = "images and videos"
        raise row_error("too_many_items", part.at, count=len(media), items=items, most=MOST_PARTS, whole="a request")
    _check_total(sum(map(_length, inputs)), at)
    return inputs


def _content(value: object, at: str, model: Model) -> str | Content:
    if not isinstance(value, list):
        raise row_error("mixed_inputs", at, expected="an array of content parts")
    given, media = embeddings.read_content(value, at, model=model, rules=EMBEDDING_PARTS)
    if isinstance(given, str):
        return _text(given, at)
    check_counts(media, _MOST_IN_ONE, whole="a content array")
    content = Content(given, media)
    if (length := _length(content)) > MOST_CHARACTERS:
        raise row_error("text_too_long", at, count=f"{length:,}", most=f"{MOST_CHARACTERS:,}", where=" per input")
    return content


def _length(given: str | Content) -> int:
    return len(given) if isinstance(given, str) else sum(len(part.get("text", "")) for part in given.parts)


def _check_total(length: int, at: str) -> None:
    if length > MOST_CHARACTERS_IN_ALL:
        most = f"{MOST_CHARACTERS_IN_ALL:,}"
        raise row_error("text_too_long", at, count=f"{length:,}", most=most, where=" in one request")
