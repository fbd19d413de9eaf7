"""Gets the pictures and clips of a request ready to be sent: fetched once, checked against their content, measured.

Reference 000: images, audio and video in chat; media limits. Everything happens in threads of its own.
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import msgspec

from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.media.fetching import Fetch, Stored
from inference.media.lengths import Measured, in_seconds, measure
from inference.media.parts import MediaPart
from inference.media.probe import Patience
from inference.media.rates import longest_ms
from inference.media.serving import damage, media_fault
from inference.refusals import RowError, row_error
from inference.requests.bodies import refused
from inference.requests.profiles import Profile

# Requests whose media is fetched at once in this process; further ones wait. A slow host keeps a thread for minutes.
_fetching: Final = ThreadPoolExecutor(128, thread_name_prefix="realtime-fetch")
# Those whose media is read. Of their own: what is there does not wait for what is still to come.
_reading: Final = ThreadPoolExecutor(16, thread_name_prefix="realtime-media")


@dataclass(frozen=True, slots=True)
class Ready:
    """The parts, all inline, and what they are billed as besides tokens."""

    parts: tuple[MediaPart, ...]
    items: Usage


async def prepare(
    parts: tuple[MediaPart, ...], *, model: Model, profile: Profile, stored: Stored | None = None
) -> Ready:
    """The parts of a request with their bytes; the 400 that names the first that cannot be had or read.

    `stored` reads what its organization uploaded. When the request is cancelled, what is under way stops soon.
    """
    stopped, loop = threading.Event(), asyncio.get_running_loop()
    try:
        if any(part.url is not None for part in parts):
            fetch = Fetch(model, lambda: not stopped.is_set(), stored=stored)
            parts = await loop.run_in_executor(_fetching, fetch.all, parts)
        return Ready(parts, await loop.run_in_executor(_reading, _read, parts, model))
    except RowError as error:
        raise refused(error, profile) from None
    finally:
        stopped.set()


async def check_pictures(parts: tuple[MediaPart, ...], *, profile: Profile) -> None:
    """Raise the 400 that names the first picture that cannot be decoded: what a server refuses may be one."""
    fault = await asyncio.get_running_loop().run_in_executor(_reading, _damage, parts)
    if fault:
        raise refused(fault, profile)


def _damage(parts: tuple[MediaPart, ...]) -> RowError | None:
    for part in parts:
        if part.modality == "image" and part.data and part.format:
            fault = damage(part.data.read, part.data.size, format=part.format, at=part.at)
            if fault:
                return fault
    return None


def _read(parts: tuple[MediaPart, ...], model: Model) -> Usage:
    patience = Patience()
    items = Usage()
    for part in parts:
        items += _checked(part, model, patience)
    return items


def _checked(part: MediaPart, model: Model, patience: Patience) -> Usage:
    """What a part is billed as; a clip by its own length, whatever its sender declared."""
    assert part.data
    assert part.format
    item = measure(msgspec.structs.replace(part, declared_ms=None), patience=patience)
    fault = media_fault(
        item, part.data.read, part.data.size, format=part.format, at=part.at, model=model, patience=patience
    )
    if fault:
        raise fault
    if item.modality == "image":
        return Usage(images=1)
    length = _length(item, part, model)
    return Usage(clips=1, video_ms=length) if item.modality == "video" else Usage(clips=1, audio_ms=length)


def _length(item: Measured, part: MediaPart, model: Model) -> int:
    most = longest_ms(item, model=model)
    length = most if item.milliseconds is None else item.milliseconds
    if length > most + 1000:
        reason = f"it is {in_seconds(length)} s long, and the model takes at most {in_seconds(most)} s"
        raise row_error("media_unreadable", part.at, reason=reason)
    return length
