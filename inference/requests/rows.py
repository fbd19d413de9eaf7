"""One line of a chat input file: parsed, checked, and translated to what a model server is sent.

Pure and fast: a file of ten million lines passes through here twice.
"""

from typing import Any

import msgspec
import orjson

from anex.core.errors import InvalidRequest
from inference.catalogue.schema import Model
from inference.refusals import RowError, row_error
from inference.requests.messages import check_messages
from inference.requests.options import ANSWER_TOKENS, MAX_TEMPERATURE, RowOptions
from inference.requests.response_format import check_response_format, constrains, upstream_format
from inference.requests.thinking import check_thinking

__all__ = ["Row", "RowError", "RowOptions", "parse", "upstream_body", "url_path"]

URL = "/v1/chat/completions"
# The route below a server's base URL that answers a row.
url_path = "/chat/completions"

# The writer of JSON stops at 254 levels; a row this shallow cannot come near it.
_SURELY_SHALLOW = 200
_BOM = b"\xef\xbb\xbf"


class Row(msgspec.Struct, frozen=True):
    """A checked row. Settings are the effective ones: the row's own, else the job's, else None (the model's)."""

    custom_id: str
    messages: list[dict[str, Any]]
    chat_template_kwargs: dict[str, Any]
    response_format: dict[str, Any] | None
    temperature: float | None


def parse(line: bytes, *, model: Model, options: RowOptions) -> Row:
    """The row a line holds, or a `RowError` (reference 001, the input file).

    Of the body only messages, chat_template_kwargs, response_format and temperature are used; `stream: true` is
    refused, other fields are ignored. A JSON key given twice counts with its last value.
    """
    request = _decode(line)
    custom_id = request.get("custom_id")
    if type(custom_id) is not str:
        raise _expected("a string", custom_id, "custom_id")
    if not custom_id:
        raise row_error("empty", "custom_id")
    if request.get("method") != "POST":
        raise row_error("invalid_method" if "method" in request else "missing", "method")
    if request.get("url") != URL:
        raise row_error("invalid_url" if "url" in request else "missing", "url", url=URL)
    body = request.get("body")
    if type(body) is not dict:
        raise _expected("an object", body, "body")
    if body.get("stream"):
        raise row_error("stream_not_supported", "body.stream")
    return Row(
        custom_id,
        check_messages(body.get("messages"), model=model),
        check_thinking(body.get("chat_template_kwargs"), model=model, options=options),
        _response_format(body.get("response_format")) or options.response_format,
        _temperature(body.get("temperature"), options.temperature),
    )


def upstream_body(row: Row, *, served_name: str, model: Model, options: RowOptions, max_tokens: int) -> bytes:
    """The JSON for an OpenAI-compatible server: same row, same bytes. `max_tokens` is the row's output cap."""
    body: dict[str, Any] = {"model": served_name, "messages": row.messages, "max_tokens": max_tokens}
    if row.temperature is not None:
        body["temperature"] = row.temperature
    if row.chat_template_kwargs:
        body["chat_template_kwargs"] = row.chat_template_kwargs
    budget = _budget(row, model, options, max_tokens)
    if budget is not None:
        body["thinking_token_budget"] = budget
    if row.response_format is not None and constrains(row.response_format):
        body["response_format"] = upstream_format(row.response_format)
    return orjson.dumps(body)


def _budget(row: Row, model: Model, options: RowOptions, max_tokens: int) -> int | None:
    """The cap on thinking, lowered so that the answer keeps its room; none where thinking is off or form is forced."""
    if not options.reasoning_budget or not model.takes_budget or constrains(row.response_format):
        return None
    if row.chat_template_kwargs.get("enable_thinking") is False:
        return None
    return max(1, min(options.reasoning_budget, max_tokens - ANSWER_TOKENS))


def _decode(line: bytes) -> dict[str, Any]:
    try:
        request = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _undecodable(line, error) from None
    if type(request) is not dict:
        raise row_error("not_an_object", found=_kind(request))
    if line.count(b"[") + line.count(b"{") > _SURELY_SHALLOW:
        try:
            orjson.dumps(request)
        except TypeError:
            raise row_error("too_deep") from None
    return request


def _undecodable(line: bytes, error: orjson.JSONDecodeError) -> RowError:
    if line.startswith(_BOM):
        return row_error("byte_order_mark")
    try:
        line.decode()
    except UnicodeDecodeError:
        return row_error("invalid_encoding")
    if "depth" in error.msg:
        return row_error("too_deep")
    return row_error("invalid_json", reason=f"{error.msg.split(':', 1)[0]}, at character {error.pos + 1}")


def _response_format(value: object) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        check_response_format(value, param="body.response_format")
    except InvalidRequest as error:
        raise RowError(error.code, error.message, error.param) from None
    assert isinstance(value, dict)
    return value


def _temperature(value: object, default: float | None) -> float | None:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TEMPERATURE:
        raise row_error("out_of_range", "body.temperature", low=0, high=MAX_TEMPERATURE)
    return value


def _expected(expected: str, value: object, param: str) -> RowError:
    return row_error("missing", param) if value is None else row_error("wrong_type", param, expected=expected)


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
