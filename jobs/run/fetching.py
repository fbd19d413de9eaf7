"""Gets the media of a row ready to be sent: fetches what is named by URL, and looks at the bytes once more.

Whatever is wrong with a picture or clip fails its row alone, free of charge. Everything here blocks: it runs in threads
of its own, so that hosts that dawdle hold up neither the event loop nor the database.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from anex.core import clock, safe_http
from anex.core.destinations import RefusedUrl, Unreachable
from anex.core.errors import TooLarge
from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.media.formats import format_of_bytes
from inference.media.lengths import Measured, measure
from inference.media.parts import MediaPart, fetched
from inference.media.probe import Patience
from inference.media.rates import count_media, surplus
from inference.media.serving import damage, media_fault
from inference.refusals import RowError, row_error
from inference.requests import rows as requests
from jobs.run import hosted
from jobs.run.context import Context
from jobs.run.turns import ROWS_OF_A_JOB

MIB: Final = 1024 * 1024
# Reference 000, media limits: all media of a row. Each item's limit is the catalogue's, or what a row may carry inline.
ROW_BYTES: Final = 64 * MIB
ROW_SECONDS, IMAGE_SECONDS = 300.0, 10.0
IDLE_SECONDS = 20.0
RETRY_WAITS = (1.0, 3.0)
_PASSING = frozenset({408, 425, 429})
# Hosts of four jobs that dawdle at once do not hold up the media of a fifth.
_fetching = ThreadPoolExecutor(5 * ROWS_OF_A_JOB, thread_name_prefix="fetch")
_reading = ThreadPoolExecutor(2, thread_name_prefix="media")

NOTHING: Final = Usage()
R = TypeVar("R")


class Halted(Exception):
    """The row is left for later."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A row whose media is all inline, what its items were priced as, and the bytes they added."""

    request: requests.Row
    media: Usage = NOTHING
    size_bytes: int = 0


async def in_thread(function: Callable[[], R], *, fetches: bool = False) -> R:
    """Run what takes long for a row with media outside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_fetching if fetches else _reading, function)


def is_hosted(request: requests.Row) -> bool:
    """Whether any of the row's media has to be fetched."""
    return any(part.url is not None for part in requests.media_of(request))


def prepare(request: requests.Row, *, context: Context, patience: Patience, go_on: Callable[[], bool]) -> Prepared:
    """The row ready to be sent. Raises `RowError` for what is wrong with its media, Halted soon after `go_on` says no.

    Codes: media_surplus, media_unreachable, media_unreadable, media_length_mismatch. Sentences name parts by path.
    Unavailable where media cannot be read on this machine.
    """
    media, model = requests.media_of(request), context.model
    if not media or isinstance(request, requests.DecisionRow):
        return Prepared(request)
    priced = [_priced(part, context, patience) for part in media]
    if sentence := surplus(priced, model=model):
        raise row_error("media_surplus", media[0].at, reason=sentence)
    fps = context.options.video_fps
    usage = count_media(priced, model=model, row=request.custom_id, video_fps=fps)
    with_bytes = _Fetch(model, go_on).all(media)
    for part, item in zip(with_bytes, priced, strict=True):
        if fault := _fault(part, item, model, fps, patience):
            raise fault
    added = sum(len(part.data.text) for part, was in zip(with_bytes, media, strict=True) if was.url and part.data)
    return Prepared(msgspec.structs.replace(request, media=with_bytes), usage, added)


def _priced(part: MediaPart, context: Context, patience: Patience) -> Measured:
    """As it was measured when the job was quoted."""
    known = context.lengths.get(hosted.name_of(part)) if part.url and part.declared_ms is None else None
    return known or measure(part, patience=patience)


def _fault(part: MediaPart, priced: Measured, model: Model, fps: float | None, patience: Patience) -> RowError | None:
    assert part.data
    assert part.format
    read, size = part.data.read, part.data.size
    return media_fault(
        priced, read, size, format=part.format, at=part.at, model=model, video_fps=fps, patience=patience
    )


def damaged_picture(request: requests.Row) -> RowError | None:
    """The first picture of a prepared row that cannot be decoded. Takes as long as decoding all of them."""
    for part in requests.media_of(request):
        if part.modality == "image" and part.data and part.format:
            fault = damage(part.data.read, part.data.size, format=part.format, at=part.at)
            if fault:
                return fault
    return None


class _Fetch:
    """Fetches the media of one row; an address that is named twice is asked once."""

    def __init__(self, model: Model, go_on: Callable[[], bool]) -> None:
        self._model = model
        self._go_on = go_on
        self._ends = clock.monotonic() + ROW_SECONDS
        self._left = ROW_BYTES
        self._known: dict[str, bytes] = {}

    def all(self, media: tuple[MediaPart, ...]) -> tuple[MediaPart, ...]:
        return tuple(part if part.url is None else self._one(part, part.url) for part in media)

    def _one(self, part: MediaPart, url: str) -> MediaPart:
        if url not in self._known:
            self._known[url] = self._get(part, url)
        data = self._known[url]
        # Every part is sent with bytes of its own, also where its address was named before.
        self._left -= len(data)
        if self._left < 0 or len(data) > _most_mib(self._model, part) * MIB:
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
        most_mib = _most_mib(self._model, part)
        for wait in (*RETRY_WAITS, None):
            try:
                return self._download(url, most_bytes=min(most_mib * MIB, self._left), seconds=ends - clock.monotonic())
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
        most = f"more than {_most_mib(self._model, part)} MiB, or the row's media more than {ROW_BYTES // MIB} MiB"
        return row_error("media_unreachable", part.at, reason=f"it has {most}")

    def _download(self, url: str, *, most_bytes: int, seconds: float) -> bytes:
        if seconds <= 0:
            raise Unreachable("it took too long.")
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


def _most_mib(model: Model, part: MediaPart) -> int:
    by_url = model.realtime.max_url_mib.get(part.modality) if model.realtime else None
    inline: int = getattr(model.media, part.modality).max_inline_mb
    return by_url or inline


def _check_status(status: int) -> None:
    if status in _PASSING or status >= 500:
        raise Unreachable(f"its host answered {status}.")
    if 300 <= status < 400:
        raise RefusedUrl(f"its host answered with a redirect ({status}): give the final URL.")
    if status != 200:
        raise RefusedUrl(f"its host answered {status}.")
