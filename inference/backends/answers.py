"""What a model server's HTTP answer means: an answer, or which fault. Pure."""

import email.utils
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

import orjson

from anex.core.usage import Usage
from inference.backends.faults import ServerFailed, Throttled
from inference.backends.usage import MOST_TOKENS, read_usage

_EXCERPT = 500
# A key, a name or a route the server does not know: how it was set up is at fault, no request is.
_SET_UP_WRONG = frozenset({401, 403, 404, 405})
# The writer of JSON stops at 254 levels, the reader does not; an answer this shallow cannot come near it.
_SURELY_SHALLOW = 200
_LEAST_ERROR, _OWN_FAULT, _MOST_ERROR = 400, 500, 599


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's word on a request: 200, or a refusal of the request whose `body` has an `error`.

    `usage` is None where the server reported none that can be believed; `clamped` tells that its report was changed.
    `finish_reason` is passed on as the server names it; None for embeddings, decisions and refusals.
    """

    status: int
    body: dict[str, Any]
    usage: Usage | None
    finish_reason: str | None
    clamped: bool = False


class Refused(Exception):
    """A server refused the request: its status and body."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def check_status(status: int, headers: Mapping[str, str], *, now: datetime) -> None:
    """Raise the fault a status stands for; 200 and refusals pass."""
    if status in (429, 503):
        raise Throttled(f"The model server answered {status}.", retry_after_s=retry_after_s(headers, now=now))
    if status != 200 and (status in _SET_UP_WRONG or not 400 <= status < 500):
        raise ServerFailed(f"The model server answered {status}.")


def check_error_event(event: dict[str, Any], *, now: datetime) -> NoReturn:
    """Raise what an event with an `error` stands for: `Refused`, or the fault of the status in its `code`.

    vLLM checks some of a request, such as a schema it has no grammar for, after its stream has begun with 200.
    """
    error = event["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if type(code) is int and _LEAST_ERROR <= code <= _MOST_ERROR else _OWN_FAULT
    check_status(status, {}, now=now)
    raise Refused(Answer(status=status, body=event, usage=None, finish_reason=None))


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The wait a server asks for, in seconds: `retry-after-ms`, or Retry-After as seconds or an HTTP date.

    Names of headers are in lower case, or in any.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())


def read_answer(status: int, raw: bytes, *, input_bound: int = MOST_TOKENS, output_bound: int = MOST_TOKENS) -> Answer:
    """The answer in a complete body; raises ServerFailed for a 200 that holds no JSON object."""
    body = decode_object(raw)
    if status != 200:
        if body is None or "error" not in body:
            text = raw[:_EXCERPT].decode("utf-8", "replace").replace("\x00", "")
            body = {"error": {"message": text, "type": None, "param": None, "code": status}}
        return Answer(status=status, body=body, usage=None, finish_reason=None)
    if body is None:
        raise ServerFailed("The model server answered 200 with something that is not a JSON object.")
    _name_reasoning(body)
    usage, clamped = read_usage(body, input_bound=input_bound, output_bound=output_bound)
    return Answer(status=status, body=body, usage=usage, finish_reason=_finish_reason(body), clamped=clamped)


def decode_object(raw: bytes) -> dict[str, Any] | None:
    """A JSON object that can be passed on; NaN and infinities, which some servers write, become null.

    None for anything else.
    """
    try:
        body = orjson.loads(raw)
        if raw.count(b"[") + raw.count(b"{") > _SURELY_SHALLOW:
            orjson.dumps([[[[body]]]])
    except TypeError:
        return None
    except orjson.JSONDecodeError:
        try:
            body = json.loads(raw, parse_constant=lambda _: None)
            orjson.dumps([[[[body]]]])
        except (ValueError, RecursionError, TypeError):
            return None
    return body if isinstance(body, dict) else None


def _name_reasoning(body: Mapping[str, Any]) -> None:
    """A message's thinking under the name every answer of ours has it: newer vLLM calls it `reasoning`."""
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict) and "reasoning" in message:
            thought = message.pop("reasoning")
            message["reasoning_content"] = message.get("reasoning_content") or thought


def _finish_reason(body: Mapping[str, Any]) -> str | None:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("finish_reason") if isinstance(first, dict) else None
    return reason if isinstance(reason, str) else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
