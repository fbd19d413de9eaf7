"""What can go wrong between this platform and a model server. Pure."""


class UpstreamError(Exception):
    """A model server gave no usable answer; sending the same request again may help."""


class Throttled(UpstreamError):
    """429 or 503: the server asks to wait `retry_after_s` seconds (None: it names no time)."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFailed(UpstreamError):
    """The server failed on this request: 5xx, too slow, an answer cut short or one that is no JSON object."""


class ServerLost(UpstreamError):
    """Nothing listens, or the connection ended before an answer began."""
