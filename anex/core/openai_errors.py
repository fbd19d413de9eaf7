"""Errors as OpenAI's clients read them: `{"error": {"message", "type", "code", "param"}}` with a string code. Pure."""

from collections.abc import Mapping
from typing import Any, Final

_TYPES: Final = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "rate_limit_error",
}
_OURS: Final = 500


def error_object(
    status: int, message: str, code: str, *, param: str | None = None, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What stands under `error`."""
    kind = _TYPES.get(status, "invalid_request_error" if status < _OURS else "server_error")
    return {"message": message, "type": kind, "code": code, "param": param, **(extra or {})}
