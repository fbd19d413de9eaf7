"""The one error family. Services raise these; each surface renders them in its own shape.

A message is a sentence for the person who sent the request; it never carries a secret or another
organization's data.
"""

from collections.abc import Mapping
from typing import Any


class AnexError(Exception):
    """An error with an HTTP meaning.

    `param` names the field as the user wrote it, `retry_after` is in seconds, `extra` is merged into
    the body by surfaces that document further fields.
    """

    status = 500
    code = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.param = param
        self.retry_after = retry_after
        self.extra = dict(extra or {})


class InvalidRequest(AnexError):
    """400: the content of the request is refused."""

    status = 400
    code = "invalid_request"


class Unauthenticated(AnexError):
    """401: the key is unknown, malformed or no longer active."""

    status = 401
    code = "invalid_api_key"


class PaymentRequired(AnexError):
    """402: the balance does not cover what is asked."""

    status = 402
    code = "insufficient_credits"


class Forbidden(AnexError):
    """403: the caller is known but may not do this."""

    status = 403
    code = "forbidden"


class NotFound(AnexError):
    """404: no such thing in this organization."""

    status = 404
    code = "not_found"


class Conflict(AnexError):
    """409: the thing is in the wrong state for this call."""

    status = 409
    code = "conflict"


class Gone(AnexError):
    """410: the data was deleted."""

    status = 410
    code = "gone"


class TimedOut(AnexError):
    """408: the request did not arrive in time."""

    status = 408
    code = "request_timeout"


class TooLarge(AnexError):
    """413: more bytes than allowed."""

    status = 413
    code = "too_large"


class WrongMediaType(AnexError):
    """415: the body is of a type or an encoding that is not taken here."""

    status = 415
    code = "unsupported_media_type"


class Misdirected(AnexError):
    """421: the data is kept in another region; `extra` names it and the API to use."""

    status = 421
    code = "misdirected"


class Unprocessable(AnexError):
    """422: the request does not fit the endpoint's shape or the model."""

    status = 422
    code = "unprocessable"


class TooManyRequests(AnexError):
    """429: wait `retry_after` seconds."""

    status = 429
    code = "rate_limit_exceeded"


class InsufficientQuota(AnexError):
    """429: a ceiling is reached; waiting a little changes nothing."""

    status = 429
    code = "insufficient_quota"


class UpstreamFailed(AnexError):
    """502: the model's server gave no usable answer."""

    status = 502
    code = "upstream_error"


class AnswerTooSlow(AnexError):
    """504: no answer within the time an answer may take."""

    status = 504
    code = "timeout"


class MethodNotAllowed(AnexError):
    """405: the path takes the methods `allowed` alone."""

    status = 405
    code = "method_not_allowed"

    def __init__(self, *allowed: str) -> None:
        super().__init__(f"Use {' or '.join(allowed)} here.")
        self.allowed = allowed


class Unavailable(AnexError):
    """503: something this request depends on cannot answer now."""

    status = 503
    code = "unavailable"


class NotServed(AnexError):
    """501: the model exists and this surface does not serve it."""

    status = 501
    code = "not_served"
