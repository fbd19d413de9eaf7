"""Errors as OpenAI's clients read them: `{"error": {"message", "type", "code", "param"}}` with a string code. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from anex.core.error_catalogue import entry_of
from anex.core.errors import AnexError
from anex.core.retrying import wait_s

_TYPES: Final = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "rate_limit_error",
}
_UNPAID: Final = frozenset({"insufficient_credits", "credit_limit_reached", "key_credit_ceiling"})
_OURS: Final = 500


def error_object(
    status: int, message: str, code: str, *, param: str | None = None, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What stands under `error`: OpenAI's fields, `retry` and `charged`, and those of the code (reference 004)."""
    kind = _TYPES.get(status, "invalid_request_error" if status < _OURS else "server_error")
    kind = _TYPES[402] if code in _UNPAID else kind
    advice = entry_of(code, status)
    told = {"message": message, "type": kind, "code": code, "param": param}
    return {**told, "retry": advice.retry, "charged": advice.charged, **(extra or {})}


def of(error: AnexError) -> dict[str, Any]:
    """The object of one of our errors; a wait is told beside its header."""
    wait = wait_s(error)
    told = {} if wait is None else {"retry_after": wait}
    return error_object(error.status, error.message, error.code, param=error.param, extra=told | error.extra)
