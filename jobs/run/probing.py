"""Asks the hosts of a checked job's clips for what makes its price finer, once every row was admitted.

Admission is decided without them (references 001, duration_seconds): whatever is not learned here is priced at the
model's ceiling. One thing ends the job: a host that names a media type that is not taken, for an address without an
extension (001, supported formats). Everything is bounded: addresses, time for each and in all, how many at once.
"""

import dataclasses
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import msgspec

from anex.core import clock, safe_http
from anex.core.errors import AnexError
from anex.core.usage import Usage
from inference.media.formats import format_of_media_type
from inference.media.lengths import Hosted, Measured, measure
from inference.media.parts import MediaPart
from inference.media.probe import Patience
from inference.media.rates import count_media
from inference.refusals import RowError, shortened
from inference.requests import rows as requests
from jobs.run import hosted
from jobs.run.claims import Claim, Interrupted
from jobs.run.context import Context
from jobs.run.cutting import Cut
from jobs.run.lines import read_lines
from jobs.run.problems import Problem
from jobs.run.totals import Checked

log = logging.getLogger(__name__)

MOST_CLIPS = 256
MOST_HEADS = 48
SECONDS = 60.0
CLIP_SECONDS = 10.0
AT_ONCE = 8
LOOK_SECONDS = 0.5
BLOCK_BYTES = 256 * 1024
_HOSTED = re.compile(b"https", re.IGNORECASE)


@dataclass(slots=True)
class _Clip:
    """A clip on a host, as its first row names it; `times` is how many rows name it alike."""

    part: MediaPart
    line: int
    custom_id: str
    times: int = 0


def refine(claim: Claim, context: Context, checked: Checked, cuts: Sequence[Cut], *, go_on: Callable[[], bool]) -> None:
    """Lower the totals of `checked` by what hosts tell of its clips, or note the problem that ends the job.

    Reads the file once more, where it has clips. Raises Interrupted soon after `go_on` says no.
    """
    if not checked.media.clips:
        return
    clips = _clips(context, cuts, go_on)
    answers = _ask_all(list(clips.values()), go_on)
    refused = [(clip, answer) for clip, answer in answers if isinstance(answer, RowError)]
    checked.problems += [
        Problem(error.code, clip.line, error.message, error.param, shortened(clip.custom_id)) for clip, error in refused
    ]
    if refused:
        return
    lengths: dict[str, Measured] = {}
    for clip, answer in answers:
        if isinstance(answer, Measured) and (saved := _saving(context, clip.part, answer)):
            lengths[hosted.name_of(clip.part)] = answer
            checked.media = _less(checked.media, saved, clip.times)
            checked.input_tokens -= saved.input_tokens * clip.times
    if clips:
        hosted.store_lengths(context.store, claim, lengths)


def _clips(context: Context, cuts: Sequence[Cut], go_on: Callable[[], bool]) -> dict[str, _Clip]:
    """The first clips that hosts may be asked about, and how often each is named in all of the file."""
    clips: dict[str, _Clip] = {}
    heads = 0
    for line, custom_id, part in _hosted_parts(context, cuts, go_on):
        name = hosted.name_of(part)
        if (clip := clips.get(name)) is None:
            heads += part.format is None
            if len(clips) == MOST_CLIPS or (part.format is None and heads > MOST_HEADS):
                continue
            clip = clips[name] = _Clip(part, line, custom_id)
        # The price of a clip whose length is declared is final; a host is asked for its type alone.
        clip.times += part.declared_ms is None
        if part.declared_ms is None:
            clip.part = part
    return {name: clip for name, clip in clips.items() if clip.times or clip.part.format is None}


def _hosted_parts(
    context: Context, cuts: Sequence[Cut], go_on: Callable[[], bool]
) -> Iterator[tuple[int, str, MediaPart]]:
    """The clips on hosts in the order of the file, each with the number of its line and the custom_id of its row."""
    for cut in cuts:
        if not go_on():
            raise Interrupted
        blob = context.store.read_range(context.input_key, cut.start, cut.end, etag=context.input_etag)
        for line in read_lines(blob):
            if not _HOSTED.search(line.text) or (b"video_url" not in line.text and b"audio_url" not in line.text):
                continue
            row = requests.parse(line.text, model=context.model, options=context.options)
            for part in requests.media_of(row):
                if part.url is not None and part.modality != "image":
                    yield cut.line + line.number - 1, row.custom_id, part


def _ask_all(clips: list[_Clip], go_on: Callable[[], bool]) -> list[tuple[_Clip, Measured | RowError | None]]:
    """What each clip's host told; None where it told nothing, or the time was over before it was asked."""
    ends, patience = clock.monotonic() + SECONDS, Patience()
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="probe")
    try:
        asked = [(clip, pool.submit(_ask, clip.part, patience, ends)) for clip in clips]
        open_ones: set[Future[Measured | RowError | None]] = {future for _, future in asked}
        while open_ones:
            if not go_on():
                raise Interrupted
            open_ones = wait(open_ones, timeout=LOOK_SECONDS).not_done
        return [(clip, future.result()) for clip, future in asked]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ask(part: MediaPart, patience: Patience, ends: float) -> Measured | RowError | None:
    """A clip's length as its host tells, a refusal of its type, or None. What a host does is no error of ours."""
    if clock.monotonic() >= ends or (url := part.url) is None:
        return None
    try:
        part = _of_known_format(part, url)
        if part.declared_ms is not None or part.format is None:
            return None
        file = _HostedFile(url, ends=min(ends, clock.monotonic() + CLIP_SECONDS))
        read = file.read if file.serves_ranges else None
        return measure(part, hosted=Hosted(file.size, read), patience=patience) if file.size else None
    except RowError as error:
        return error
    except (AnexError, ConnectionError) as error:
        log.info("a host told nothing of its clip: %s", type(error).__name__)
        return None


def _of_known_format(part: MediaPart, url: str) -> MediaPart:
    """The part with the format its host names, where the address names none; `RowError` where it is not taken."""
    if part.format is not None:
        return part
    reply = safe_http.head(url, total_timeout_s=CLIP_SECONDS)
    named = reply.headers.get("content-type")
    if reply.status != 200 or not named:
        return part
    at = f"{part.at}.{part.type}.url"
    return msgspec.structs.replace(part, format=format_of_media_type(named, part.modality, at=at))


class _HostedFile:
    """A file on a host: its first and last block are fetched at once, where headers are, others when they are read."""

    def __init__(self, url: str, *, ends: float) -> None:
        self._url = url
        self._ends = ends
        self._blocks: dict[int, bytes] = {}
        first = self._get(0)
        self.size = first.total or 0
        self.serves_ranges = bool(first.body)
        self._blocks[0] = first.body
        if self.serves_ranges:
            self._block((self.size - 1) // BLOCK_BYTES)

    def read(self, offset: int, size: int) -> bytes:
        """As `formats.Reader`."""
        first, last = offset // BLOCK_BYTES, (offset + size - 1) // BLOCK_BYTES
        data = b"".join(self._block(index) for index in range(first, last + 1))
        return data[offset - first * BLOCK_BYTES :][:size]

    def _block(self, index: int) -> bytes:
        if index not in self._blocks:
            self._blocks[index] = self._get(index).body
        return self._blocks[index]

    def _get(self, index: int) -> safe_http.Range:
        offset = index * BLOCK_BYTES
        left = self._ends - clock.monotonic()
        return safe_http.get_range(self._url, offset=offset, size=BLOCK_BYTES, total_timeout_s=left)


def _saving(context: Context, part: MediaPart, found: Measured) -> Usage | None:
    """What a row costs less now that its clip is known; None where that is nothing, or it is longer than is taken.

    A clip that is too long stays admitted at the ceiling: it fails as a row when it is fetched.
    """
    fps, model = context.options.video_fps, context.model
    try:
        was, now = (count_media([item], model=model, row="", video_fps=fps) for item in (measure(part), found))
    except RowError:
        return None
    saved = _less(was, now)
    return saved if saved.input_tokens > 0 else None


def _less(whole: Usage, part: Usage, times: int = 1) -> Usage:
    pairs = zip(dataclasses.astuple(whole), dataclasses.astuple(part), strict=True)
    return Usage(*(much - times * less for much, less in pairs))
