"""What tells a client whether and when to send a refused request again. Pure."""

from typing import Final

from anex.core.error_catalogue import entry_of
from anex.core.errors import AnexError, MethodNotAllowed, Unauthenticated, Unavailable

Headers = list[tuple[bytes, bytes]]

# What clients resend, or might; other refusals are not sent again by any client. Of a 504 they would think it is over.
_RESENT: Final = frozenset({402, 403, 408, 409, 429})
_OURS: Final = 500
_OUTLIVED: Final = 504


def wait_s(error: AnexError) -> int | None:
    """How long to wait before the next try, None where the error says nothing of it."""
    if error.retry_after is None and isinstance(error, Unavailable) and _advice(error) == "same":
        return 1
    return error.retry_after


def headers(error: AnexError) -> Headers:
    """The headers of a refusal: what the error knows of another try, else what the catalogue says of its code."""
    told: Headers = []
    entry = entry_of(error.code, error.status)
    retry = _advice(error)
    if (wait := wait_s(error)) is not None:
        told.append((b"retry-after", str(wait).encode()))
    if retry != "same":
        if error.status in _RESENT or error.status >= _OURS or entry.charged:
            told.append((b"x-should-retry", b"false"))
    elif error.status == _OUTLIVED:
        told.append((b"x-should-retry", b"true"))
    if isinstance(error, MethodNotAllowed):
        told.append((b"allow", ", ".join(error.allowed).encode()))
    if isinstance(error, Unauthenticated):
        told.append((b"www-authenticate", b"Bearer"))
    return told


def _advice(error: AnexError) -> str:
    told: str = error.extra.get("retry", entry_of(error.code, error.status).retry)
    return told
