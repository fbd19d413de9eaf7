"""Reads lines of the common shape several times as fast as `rows.parse`, with the same outcome for every line.

A type describes rows of plain strings and nothing else; whatever does not fit it (other fields, content parts, every
fault) is left to `rows.parse`, which alone refuses. tests/inference/test_typed_rows.py holds the two together.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import orjson
from msgspec import Meta

from inference.catalogue.schema import Model
from inference.refusals import RowError
from inference.requests import rows
from inference.requests.chat import ChatRow
from inference.requests.embeddings import EmbeddingRow
from inference.requests.messages import ROLES
from inference.requests.options import RowOptions
from inference.requests.profiles import RowProfile

Reader = Callable[[bytes], rows.Row]

_NATIVE_SETTINGS = ("temperature", "chat_template_kwargs", "response_format", "stream")
_KEPT_SETTINGS = 256
_LONGEST_SETTINGS = 64 * 1024

_Text = Annotated[str, Meta(min_length=1)]
# Fields that are ignored must still be read as JSON is read elsewhere: numbers of an ordinary size.
_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)] | Annotated[float, Meta(ge=-1e15, le=1e15)] | None


class _ChatBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    messages: Annotated[list[dict[str, str]], Meta(min_length=1)]
    temperature: int | float | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    stream: bool | None = None
    model: str | None = None
    max_tokens: _Number = None
    max_completion_tokens: _Number = None
    top_p: _Number = None
    seed: _Number = None
    n: _Number = None
    user: str | None = None


class _ChatLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    custom_id: _Text
    method: Literal["POST"]
    url: Literal["/v1/chat/completions"]
    body: _ChatBody


class _EmbeddingBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    input: _Text
    dimensions: int | float | None = None
    encoding_format: Literal["float"] | None = None
    model: str | None = None
    user: str | None = None


class _EmbeddingLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    custom_id: _Text
    method: Literal["POST"]
    url: Literal["/v1/embeddings"]
    body: _EmbeddingBody


_decode_chat = msgspec.json.Decoder(_ChatLine).decode
_decode_embedding = msgspec.json.Decoder(_EmbeddingLine).decode


def reader(model: Model, options: RowOptions) -> Reader:
    """What `rows.parse` is for the lines of a job, faster; it raises `RowError` likewise."""
    exact = partial(rows.parse, model=model, options=options)
    if model.task == "chat":
        return _chat_reader(exact, options.profile)
    if model.task == "embed" and not options.profile.checks_model:
        return _embedding_reader(model, options, exact)
    return exact


def _chat_reader(exact: Reader, profile: RowProfile) -> Reader:
    settings_of = _settings_reader(exact)
    everything_counts = profile.keeps_own_settings or profile.checks_model
    names = _ChatBody.__struct_fields__[1:] if everything_counts else _NATIVE_SETTINGS
    usual = None if everything_counts else settings_of({})

    def read(line: bytes) -> rows.Row:
        try:
            found = _decode_chat(line)
            body = found.body
            for message in body.messages:
                if len(message) != 2 or message["role"] not in ROLES or "content" not in message:
                    return exact(line)
        except (msgspec.MsgspecError, KeyError, RecursionError):
            return exact(line)
        settings = usual
        own = body.temperature is not None or body.chat_template_kwargs is not None
        if own or body.response_format is not None or body.stream or everything_counts:
            settings = settings_of(_given(body, names))
        if settings is None:
            return exact(line)
        kwargs, form = settings.chat_template_kwargs, settings.response_format
        return ChatRow(found.custom_id, body.messages, kwargs, form, settings.temperature, settings.own)

    return read


def _given(body: _ChatBody, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(body, name)) is not None}


def _settings_reader(exact: Reader) -> Callable[[dict[str, Any]], ChatRow | None]:
    """What a row's own settings come to, found out once for all rows that share them; None where it is refused."""
    known: dict[bytes, ChatRow | None] = {}

    def settings_of(own: dict[str, Any]) -> ChatRow | None:
        try:
            written = orjson.dumps(own)
        except TypeError:
            return None
        if written not in known:
            if len(written) > _LONGEST_SETTINGS:
                return None
            if len(known) >= _KEPT_SETTINGS:
                known.clear()
            known[written] = _judged(own, exact)
        return known[written]

    return settings_of


def _judged(own: dict[str, Any], exact: Reader) -> ChatRow | None:
    body = {"messages": [{"role": "user", "content": ""}], **own}
    line = {"custom_id": "x", "method": "POST", "url": f"/v1{rows.PATHS['chat']}", "body": body}
    try:
        row = exact(orjson.dumps(line))
    except (RowError, TypeError):
        return None
    assert isinstance(row, ChatRow)
    return row


def _embedding_reader(model: Model, options: RowOptions, exact: Reader) -> Reader:
    assert model.embedding is not None
    usual = options.dimensions or model.embedding.dimensions

    def read(line: bytes) -> rows.Row:
        try:
            found = _decode_embedding(line)
        except msgspec.MsgspecError:
            return exact(line)
        body = found.body
        if body.dimensions is not None:
            return exact(line)
        return EmbeddingRow(found.custom_id, body.input, usual)

    return read
