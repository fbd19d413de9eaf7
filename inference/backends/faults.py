"""What can go wrong between this platform and a model server. Pure."""


class UpstreamError(Exception):
    """A model server gave no usable answer; sending the same request again may help."""


class Throttled(UpstreamError):
    """429 or 503: the server asks to wait `retry_after_s` seconds (None: it names no time)."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFailed(UpstreamError):
    """The server failed on this request: 5xx, too slow, or an answer that is no JSON object."""


class FormFailed(ServerFailed):
    """The server failed on a request whose answer has to keep to a schema, which may be what it stumbled over."""


class ServerLost(UpstreamError):
    """Nothing listens, or the connection ended before the whole answer was there.

    `sent` says that the server had the request in hand: then the request may be what ended it.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent
