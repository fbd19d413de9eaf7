"""Gets the media of a row ready to be sent: fetches what is named by URL, and looks at the bytes once more.

Whatever is wrong with a picture or clip fails its row alone, free of charge. Everything here blocks: it runs in threads
of its own, so that hosts that dawdle hold up neither the event loop nor the database.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.media.fetching import Fetch
from inference.media.lengths import Measured, measure
from inference.media.parts import MediaPart
from inference.media.probe import Patience
from inference.media.rates import count_media, surplus
from inference.media.serving import damage, media_fault
from inference.refusals import RowError, row_error
from inference.requests import rows as requests
from jobs.run import hosted
from jobs.run.context import Context
from jobs.run.turns import ROWS_OF_A_JOB

# Hosts of four jobs that dawdle at once do not hold up the media of a fifth.
_fetching = ThreadPoolExecutor(5 * ROWS_OF_A_JOB, thread_name_prefix="fetch")
_reading = ThreadPoolExecutor(2, thread_name_prefix="media")

NOTHING: Final = Usage()
R = TypeVar("R")


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
    with_bytes = Fetch(model, go_on).all(media)
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
