"""What the body of every single request is, whatever its task; and how a refusal of it reaches its sender."""

from collections.abc import Container
from typing import Any, Final

import orjson

from anex.core.errors import AnexError, InvalidRequest, Unprocessable
from inference.refusals import RowError, expected, row_error
from inference.requests.profiles import Profile

# OpenAI's fields that leave the answer as it is, and those that routers between providers send (reference 000).
IGNORED: Final = frozenset(
    {"user", "store", "metadata", "service_tier", "prompt_cache_key", "safety_identifier"}
    | {"provider", "models", "route", "transforms", "plugins", "usage"}
)
# What a surface may describe in its schema; all else is content.
_SHAPES: Final = frozenset(
    {"missing", "wrong_type", "not_a_body", "unknown_field", "out_of_range_integer", "only_width"}
)
# The writer of JSON stops at 254 levels; a body this shallow cannot come near it.
_SURELY_SHALLOW: Final = 200
# As many are built in some 25 ms, and nothing else runs meanwhile in any thread. No model's context holds as many
# messages; pictures and long texts are one value each.
MOST_VALUES: Final = 250_000
_MARKS: Final = (b",", b"[", b"{")
_ROW_BODY: Final = "body."
# Faults with a code of their own on the surface that names them; of the others those of a field have one code.
_NAMED: Final = {
    "unknown_effort": "unknown_effort",
    "hosted_tool": "tools_unsupported",
    "legacy_functions": "tools_unsupported",
    "no_tools": "tools_unsupported",
    "unknown_format": "response_format_unsupported",
    "no_formats": "response_format_unsupported",
    "format_beside_tools": "response_format_unsupported",
    "token_ids": "input_invalid",
    "text_too_long": "input_too_long",
}


def decode(raw: bytes, *, profile: Profile) -> dict[str, Any]:
    """The JSON object a body holds, or the refusal of the surface. A key given twice counts with its last value."""
    if len(raw) > MOST_VALUES and _is_crowded(raw):
        raise refused(row_error("too_many_values", most=f"{MOST_VALUES:,}"), profile)
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        reason = f"{error.msg.split(':', 1)[0]}, at character {error.pos + 1}"
        raise refused(row_error("unreadable_body", reason=reason), profile) from None
    if type(body) is not dict:
        raise refused(row_error("not_a_body"), profile)
    if raw.count(b"[") + raw.count(b"{") > _SURELY_SHALLOW:
        try:
            orjson.dumps([[[[body]]]])
        except TypeError:
            raise refused(row_error("unreadable_body", reason="it nests too deeply"), profile) from None
    return body


def _is_crowded(raw: bytes) -> bool:
    """Whether a body holds too many values, without building them: each but the first follows one of these marks."""
    if sum(map(raw.count, _MARKS)) < MOST_VALUES:
        return False
    # Most may stand in texts. A mark is followed by two texts at most, a name and its value.
    pieces = raw.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"', 4 * MOST_VALUES)
    return len(pieces) > 4 * MOST_VALUES or sum(map(b"".join(pieces[::2]).count, _MARKS)) >= MOST_VALUES


def model_id(body: dict[str, Any], *, profile: Profile) -> str:
    """The model a body names, or the refusal of the surface."""
    name = body.get("model")
    if type(name) is not str:
        raise refused(expected("a string", name, "body.model"), profile)
    return name


def check_known(body: dict[str, Any], known: Container[str], *, profile: Profile) -> None:
    """Raise `RowError` for a field that is neither known nor ignored where such are refused; null says nothing."""
    if not profile.refuses_unknown:
        return
    for name, value in body.items():
        if name not in known and name not in IGNORED and value is not None:
            raise row_error("unknown_parameter", f"body.{name[:64]}")


def ignored_fields(body: dict[str, Any], known: Container[str]) -> tuple[str, ...]:
    """The fields that are not applied; null, and fields that leave every answer as it is, are none."""
    return tuple(
        name for name, value in body.items() if value is not None and name not in known and name not in IGNORED
    )


def refused(error: RowError, profile: Profile) -> AnexError:
    """What is wrong with a row's body, as it is said of a request: its fields are named without `body.`.

    Every refusal of content goes out through here, those of fetched media too.
    """
    if error.code == "invalid_media_url" and not profile.takes_inline:
        error = row_error("not_https", error.param)
    param, message = error.param, error.message
    if param is not None and param.startswith(_ROW_BODY):
        param = param.removeprefix(_ROW_BODY)
        message = message.replace(f"{_ROW_BODY}{param}", param)
    if error.code == "unanswerable":
        return Unprocessable(message, param=param)
    kind = profile.misshapen if error.code in _SHAPES else InvalidRequest
    return kind(message, param=param, code=_code(error.code, profile) if param is not None else None)


def malformed(error: InvalidRequest, profile: Profile) -> InvalidRequest:
    """The refusal of a format or a schema under the code that the surface has for it."""
    return InvalidRequest(error.message, param=error.param, code=_code(error.code, profile))


def _code(fault: str, profile: Profile) -> str | None:
    return _NAMED.get(fault, "bad_value") if profile.names_faults else None
