"""What tells a client whether and when to send a refused request again. Pure."""

from typing import Final

from anex.core.errors import AnexError, MethodNotAllowed, Unauthenticated, Unavailable

Headers = list[tuple[bytes, bytes]]

# What the answer to the same request would be again, or what would only add to a bill that is too high already. Other
# client errors are not sent again by any client.
_NO_USE: Final = frozenset({402, 403, 501, 504})


def headers(error: AnexError) -> Headers:
    """The headers of a refusal."""
    told: Headers = []
    wait = error.retry_after
    if wait is None and isinstance(error, Unavailable):
        wait = 1
    if wait is not None:
        told.append((b"retry-after", str(wait).encode()))
    if error.status in _NO_USE or error.code == "insufficient_quota":
        told.append((b"x-should-retry", b"false"))
    if isinstance(error, MethodNotAllowed):
        told.append((b"allow", ", ".join(error.allowed).encode()))
    if isinstance(error, Unauthenticated):
        told.append((b"www-authenticate", b"Bearer"))
    return told
