"""How a refusal or failure looks on each surface: its body and its headers. Pure."""

from typing import Any, Final

import orjson

from accounts.plans import PlanLacks
from anex.core import openai_errors
from anex.core.errors import AnexError, AnswerTooSlow, InvalidRequest, PaymentRequired, TooManyRequests, UpstreamFailed
from inference.backends import overflow
from inference.backends.faults import Throttled, UpstreamError
from inference.backends.retries import LONGEST_RETRY_AFTER_S
from inference.requests.profiles import Profile

_BARE: Final = ("org_suspended", "frozen")
# Codes for what reference 000 calls by the name of its status.
_FULL: Final = ("wait_capacity", "model_busy")


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


def worded(error: AnexError, profile: Profile) -> AnexError:
    """The error as a surface has it: what it calls a balance that is too low, and limits of requests at once."""
    if isinstance(error, PaymentRequired) and profile.unpaid is not PaymentRequired:
        return profile.unpaid(error.message, code=error.code, extra=error.extra)
    if isinstance(error, PlanLacks) and profile.obeys_plans and not error.terms.may_generate:
        return PlanLacks("api_generate", error.terms)
    if error.code == overflow.CODE and error.param == "input" and profile.names_faults:
        return InvalidRequest(error.message, code="input_too_long", param=error.param)
    if error.code in _FULL and not profile.names_faults:
        return TooManyRequests(error.message, retry_after=error.retry_after)
    return error


def body(error: AnexError, profile: Profile) -> bytes:
    """The JSON of a worded refusal in the shape of its surface (000 status codes; 001 errors; 003 for `error`)."""
    if profile.offered_as == "openai":
        return orjson.dumps({"error": openai_errors.of(error)})
    if error.code in _BARE:
        return orjson.dumps({"error": error.code, "message": error.message, **error.extra})
    return orjson.dumps({"detail": error.message, **error.extra})


def as_object(error: AnexError, profile: Profile) -> dict[str, Any]:
    """The error object of a surface for OpenAI's clients, where it follows after an answer began."""
    return openai_errors.of(worded(error, profile))
