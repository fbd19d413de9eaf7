"""Server-sent events: read as bytes arrive, and written. Pure."""

from typing import Final

DONE: Final = b"[DONE]"
KEEP_ALIVE: Final = b": keep-alive\n\n"
HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
END: Final = b"data: [DONE]\n\n"
_MOST_BYTES: Final = 16 * 1024 * 1024


class TooLong(ValueError):
    """An event that does not end."""


class Parser:
    """Turns the bytes of a stream into the data of its events, however they are cut.

    Lines end in LF, CRLF or CR; comments and other fields than data are skipped. Bytes are never decoded, so a
    character cut in two is whole again in its event.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[bytes] = []
        self._held = 0

    def feed(self, received: bytes) -> list[bytes]:
        """The data of the events that are complete now, in order. Raises `TooLong`."""
        text = self._rest + received if self._rest else received
        kept = b""
        if b"\r" in text:
            # The LF of a last CR may still come.
            kept = b"\r" if text.endswith(b"\r") else b""
            text = text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = text.rfind(b"\n") + 1
        self._rest = text[end:] + kept
        if self._held + len(self._rest) > _MOST_BYTES:
            raise TooLong("An event of the model server does not end.")
        return self._events(text[:end]) if end else []

    def _events(self, text: bytes) -> list[bytes]:
        if not self._lines and text.startswith(b"data: ") and text.endswith(b"\n\n"):
            # What servers send: events of one line each.
            events = text[6:-2].split(b"\n\ndata: ")
            if text.count(b"\n") == 2 * len(events):
                return events
        events = []
        for line in text[:-1].split(b"\n"):
            if line.startswith(b"data:"):
                data = line[6:] if line[5:6] == b" " else line[5:]
                self._lines.append(data)
                self._held += len(data)
            elif not line and self._lines:
                events.append(b"\n".join(self._lines))
                self._lines.clear()
                self._held = 0
        return events


def event(data: bytes) -> bytes:
    """One event as it is sent; `data` has no line ends."""
    return b"data: " + data + b"\n\n"
