"""How a refusal or failure looks on each surface: its body and its headers. Pure."""

from typing import Any, Final

import orjson

from anex.core.errors import (
    AnexError,
    AnswerTooSlow,
    TooManyRequests,
    UpstreamFailed,
)
from anex.core.openai_errors import error_object
from inference.backends.faults import Throttled, UpstreamError
from inference.backends.retries import LONGEST_RETRY_AFTER_S
from inference.requests.profiles import Profile

_BARE: Final = ("org_suspended", "frozen")


def shown(error: BaseException) -> AnexError:
    """What the client is told of an exception."""
    if isinstance(error, AnexError):
        return error
    if isinstance(error, Throttled):
        wait = max(1, round(min(error.retry_after_s or 1, LONGEST_RETRY_AFTER_S)))
        return TooManyRequests("The model's servers are busy. Try again as Retry-After says.", retry_after=wait)
    if isinstance(error, UpstreamError):
        return UpstreamFailed("The model's server failed to answer. Nothing is charged; try again.")
    if isinstance(error, TimeoutError):
        return AnswerTooSlow("The answer took too long. Nothing is charged; stream long answers.")
    return AnexError("Something went wrong on our side. Try again.")


def body(error: AnexError, profile: Profile) -> bytes:
    """The JSON of a refusal in the shape of its surface (000 status codes; 001 errors; 003 for `error`)."""
    if profile.offered_as == "openai":
        return orjson.dumps({"error": as_object(error)})
    if error.code in _BARE:
        return orjson.dumps({"error": error.code, "message": error.message, **error.extra})
    return orjson.dumps({"detail": error.message, **error.extra})


def as_object(error: AnexError) -> dict[str, Any]:
    """The error object of the OpenAI-compatible host."""
    return error_object(error.status, error.message, error.code, param=error.param, extra=error.extra)
