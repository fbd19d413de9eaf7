"""Gets what is named by URL: within the limits of a row or request, again where that may help. It blocks."""

import threading
from collections.abc import Callable
from typing import Final

from anex.core import clock, safe_http
from anex.core.destinations import RefusedUrl, Unreachable
from anex.core.errors import NotFound, TooLarge, Unavailable
from inference.catalogue.schema import Model
from inference.media.formats import Modality, format_of_bytes
from inference.media.parts import MediaPart, fetched
from inference.refusals import RowError, row_error

MIB: Final = 1024 * 1024
# Reference 000, media limits: all media of a row or request. Each item's limit is the catalogue's, or what a row may
# carry inline.
MOST_BYTES: Final = 64 * MIB
MOST_SECONDS, IMAGE_SECONDS = 300.0, 10.0
IDLE_SECONDS = 20.0
RETRY_WAITS = (1.0, 3.0)
_PASSING = frozenset({408, 425, 429})

# The bytes that are kept here of a URL, at most so many (else TooLarge); None where they are somewhere else. NotFound
# for what cannot be had, Unavailable where it cannot just now.
Stored = Callable[[str, int], bytes | None]


class Halted(Exception):
    """Nobody wants it any more."""


class Fetch:
    """Fetches the media of one row or request; an address that is named twice is asked once.

    What `stored` has is read there and not asked for. Raises `RowError` (media_unreachable, media_unreadable), and
    Halted soon after `go_on` says no.
    """

    def __init__(self, model: Model, go_on: Callable[[], bool], *, stored: Stored | None = None) -> None:
        self._model = model
        self._go_on = go_on
        self._stored = stored
        self._ends = clock.monotonic() + MOST_SECONDS
        self._left = MOST_BYTES
        self._known: dict[str, bytes] = {}

    def all(self, media: tuple[MediaPart, ...]) -> tuple[MediaPart, ...]:
        """The parts, each with its bytes."""
        return tuple(part if part.url is None else self._one(part, part.url) for part in media)

    def _one(self, part: MediaPart, url: str) -> MediaPart:
        if url not in self._known:
            self._known[url] = self._get(part, url)
        data = self._known[url]
        # Every part is sent with bytes of its own, also where its address was named before.
        self._left -= len(data)
        if self._left < 0 or len(data) > most_mib(self._model, part.modality) * MIB:
            raise self._too_large(part)
        try:
            format = format_of_bytes(
                lambda at, size: data[at : at + size], part.modality, declared=part.format, at=part.at
            )
        except RowError:
            named = part.format or f"any {part.modality} that is supported"
            raise row_error("media_unreadable", part.at, reason=f"its first bytes are not {named}") from None
        return fetched(part, data, format=format)

    def _get(self, part: MediaPart, url: str) -> bytes:
        ends = min(self._ends, clock.monotonic() + IMAGE_SECONDS) if part.modality == "image" else self._ends
        most_bytes = most_mib(self._model, part.modality) * MIB
        for wait in (*RETRY_WAITS, None):
            try:
                return self._download(url, most_bytes=min(most_bytes, self._left), seconds=ends - clock.monotonic())
            except TooLarge:
                raise self._too_large(part) from None
            except RefusedUrl as error:
                raise row_error("media_unreachable", part.at, reason=error.message) from None
            except Unreachable as error:
                if wait is None or clock.monotonic() + wait >= ends:
                    raise row_error("media_unreachable", part.at, reason=error.message) from None
                self._pause(wait)
        raise AssertionError("the last attempt ends the loop")

    def _too_large(self, part: MediaPart) -> RowError:
        item, whole = most_mib(self._model, part.modality), MOST_BYTES // MIB
        reason = f"it has more than {item} MiB, or all media together more than {whole} MiB"
        return row_error("media_unreachable", part.at, reason=reason)

    def _download(self, url: str, *, most_bytes: int, seconds: float) -> bytes:
        if seconds <= 0:
            raise Unreachable("it took too long.")
        if self._stored and (kept := _kept(self._stored, url, most_bytes)) is not None:
            return kept
        with safe_http.stream_get(
            url, total_timeout_s=seconds, idle_timeout_s=IDLE_SECONDS, max_bytes=most_bytes
        ) as stream:
            _check_status(stream.status)
            data = bytearray()
            for block in stream.blocks:
                if not self._go_on():
                    raise Halted
                data += block
            return bytes(data)

    def _pause(self, seconds: float) -> None:
        threading.Event().wait(seconds)
        if not self._go_on():
            raise Halted


def _kept(stored: Stored, url: str, most_bytes: int) -> bytes | None:
    """What is stored, refused in the words of a host that does not have it."""
    try:
        return stored(url, most_bytes)
    except (NotFound, Unavailable) as error:
        _check_status(error.status)
        raise


def most_mib(model: Model, modality: Modality) -> int:
    """The largest item in MiB that is taken by URL, of a modality that the model takes."""
    by_url = model.realtime.max_url_mib.get(modality) if model.realtime else None
    inline: int = getattr(model.media, modality).max_inline_mb
    return by_url or inline


def _check_status(status: int) -> None:
    if status in _PASSING or status >= 500:
        raise Unreachable(f"its host answered {status}.")
    if 300 <= status < 400:
        raise RefusedUrl(f"its host answered with a redirect ({status}): give the final URL.")
    if status != 200:
        raise RefusedUrl(f"its host answered {status}.")
