"""What every line of an input file is, whatever its task: an object with custom_id, method, url and body."""

from typing import Any, Final

import orjson

from inference.catalogue.schema import Task
from inference.refusals import RowError, expected, row_error

# The route below a server's base URL that answers rows of a task; a line names it after /v1.
PATHS: Final = {"chat": "/chat/completions", "embed": "/embeddings", "decide": "/systemone"}
# What the lines of an OpenAI batch may name for a model of a task: a chat is asked in each of OpenAI's text protocols.
URLS: Final[dict[Task, tuple[str, ...]]] = {
    "chat": ("/v1/chat/completions", "/v1/responses", "/v1/completions"),
    "embed": ("/v1/embeddings",),
    "decide": ("/v1/systemone",),
}
# The writer of JSON stops at 254 levels; a row this shallow cannot come near it.
_SURELY_SHALLOW = 200
_BOM = b"\xef\xbb\xbf"


def open_line(line: bytes, *, urls: tuple[str, ...]) -> tuple[str, str, dict[str, Any]]:
    """The url, custom_id and body of a line that targets one of `urls`, or a `RowError` (reference 001, input file).

    A JSON key given twice counts with its last value.
    """
    request = decode_line(line)
    custom_id = request.get("custom_id")
    if type(custom_id) is not str:
        raise expected("a string", custom_id, "custom_id")
    if not custom_id:
        raise row_error("empty", "custom_id")
    if request.get("method") != "POST":
        raise row_error("invalid_method" if "method" in request else "missing", "method")
    url = request.get("url")
    if url not in urls:
        raise row_error("invalid_url" if "url" in request else "missing", "url", url=" or ".join(urls))
    body = request.get("body")
    if type(body) is not dict:
        raise expected("an object", body, "body")
    return url, custom_id, body


def decode_line(line: bytes) -> dict[str, Any]:
    """The object a line holds, or a `RowError`."""
    try:
        request = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _undecodable(line, error) from None
    if type(request) is not dict:
        raise row_error("not_an_object", found=_kind(request))
    if not is_shallow(line, request):
        raise row_error("too_deep")
    return request


def named_id(line: bytes) -> str | None:
    """The custom_id of a line, whatever else is wrong with it; None where it has none."""
    try:
        custom_id = decode_line(line).get("custom_id")
    except RowError:
        return None
    return custom_id if type(custom_id) is str and custom_id else None


def is_shallow(line: bytes, request: object) -> bool:
    """Whether what a line holds can be written again."""
    if len(line) > 2 * _SURELY_SHALLOW and line.count(b"[") + line.count(b"{") > _SURELY_SHALLOW:
        try:
            orjson.dumps(request)
        except TypeError:
            return False
    return True


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


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
