"""What a job of a given shape costs, by the counting and pricing of the bill itself (reference 002)."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from typing import Any, Final

import orjson
from django.conf import settings

from anex.core.errors import InvalidRequest
from anex.core.usage import Usage
from billing import pricing
from billing.pricing import PriceCard
from inference.backends import registry
from inference.catalogue import Model
from inference.media.formats import Modality
from inference.media.lengths import Measured
from inference.media.rates import count_media, countable
from inference.refusals import RowError
from inference.requests.options import RowOptions
from inference.requests.rows import PATHS, Row, parse
from inference.tokens import count_rows
from jobs.urgency import WINDOWS

MOST_CHARACTERS: Final = 50_000
MOST_BYTES: Final = 512 * 1024
FIRST_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that send the same: how many, and what each of them sends."""

    rows: int
    sends: Usage


@dataclass(frozen=True, slots=True)
class Shape:
    """A job: its rows without and with media, how many tokens a row usually writes, and how many it may."""

    text: Group
    media: Group
    writes: int
    may_write: int

    @property
    def rows(self) -> int:
        """All of them."""
        return self.text.rows + self.media.rows


@dataclass(frozen=True, slots=True)
class Price:
    """Nano-dollars of a job within a window: what is held at approval and never passed, and what it comes to."""

    window: str
    held_nano: int
    expected_nano: int


@dataclass(frozen=True, slots=True)
class Media:
    """What a row carries besides its text; clips by their seconds."""

    images: int = 0
    audio_seconds: int = 0
    video_seconds: int = 0


def count_text(model: Model, text: str, *, questions: int, media: Media) -> list[Usage]:
    """What a row of this text sends. Raises InvalidRequest (400) for what the model does not take, Unavailable."""
    (count,) = _count(model, [_parsed(_line(model, text, questions), 1, model)])
    return [count + _media(model, media)]


def count_file(model: Model, start: bytes) -> list[Usage]:
    """What the first whole lines of a file send. Raises InvalidRequest (400) naming a refused line, Unavailable."""
    whole = start if len(start) < MOST_BYTES else start[: start.rfind(b"\n") + 1]
    lines = islice((line for line in whole.split(b"\n") if line.strip()), FIRST_ROWS)
    rows = [_parsed(line, number, model) for number, line in enumerate(lines, 1)]
    if not rows:
        raise InvalidRequest("The file has no whole line in its beginning.", param="file")
    return _count(model, rows)


def shape(counts: Sequence[Usage], *, rows: int, writes: int, may_write: int) -> Shape:
    """A job of so many rows like these, as many of them with media as among these."""
    of_media = [count for count in counts if count.has_media]
    of_text = [count for count in counts if not count.has_media]
    with_media = -(-rows * len(of_media) // len(counts))
    return Shape(
        Group(rows - with_media, _average(of_text)),
        Group(with_media, _average(of_media)),
        writes,
        max(writes, may_write),
    )


def prices(card: PriceCard, shape: Shape) -> list[Price]:
    """The job's price in each window the model is sold with."""
    windows = [window for window in WINDOWS if window == "24h" or window in card.windows]
    return [_price(card.within(window), window, shape) for window in windows]


def realtime_nano(card: PriceCard, shape: Shape) -> int | None:
    """The same as single requests, in nano-dollars; None where the model is not sold so."""
    groups = [group for group in (shape.text, shape.media) if group.rows]
    if not all(card.sells("realtime", media=group.sends.has_media) for group in groups):
        return None
    return sum(group.rows * pricing.row_cost_nano(card, _used(group, shape), "realtime") for group in groups)


def _price(card: PriceCard, window: str, shape: Shape) -> Price:
    text, media = shape.text, shape.media
    held = pricing.quote_nano(
        card,
        rows=text.rows,
        input_tokens=text.rows * text.sends.input_tokens,
        output_cap=shape.may_write,
        media_rows=media.rows,
        media=_times(media.rows, media.sends),
    )
    delivered = sum(
        group.rows * pricing.row_cost_nano(card, _used(group, shape)) for group in (text, media) if group.rows
    )
    charged = pricing.charge_nano(card, quote_nano=held, delivered_nano=delivered, delivered_rows=shape.rows)
    return Price(window, held, charged)


def _used(group: Group, shape: Shape) -> Usage:
    return group.sends + Usage(output_tokens=shape.writes)


def _times(rows: int, usage: Usage) -> Usage:
    return Usage(*(rows * figure for figure in astuple(usage)))


def _average(counts: Sequence[Usage]) -> Usage:
    """Rounded up."""
    return Usage(*(-(-figure // len(counts)) for figure in astuple(sum(counts, Usage())))) if counts else Usage()


def _line(model: Model, text: str, questions: int) -> bytes:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
    if model.task == "embed":
        body = {"input": text}
    elif model.task == "decide":
        asked = {"type": "noul", "instructions": "Does this text ask for an answer today?"}
        body = {"state": text, "questions": {f"question-{number}": asked for number in range(questions)}}
    return orjson.dumps({"custom_id": "1", "method": "POST", "url": f"/v1{PATHS[model.task]}", "body": body})


def _parsed(line: bytes, number: int, model: Model) -> Row:
    try:
        return parse(line, model=model, options=RowOptions())
    except RowError as refusal:
        raise InvalidRequest(f"Line {number}: {refusal.message}", param="file") from None


def _count(model: Model, rows: Sequence[Row]) -> list[Usage]:
    servers = [server for server in registry.live(settings.ANEX_REGION) if server.model_id == model.id]
    counts = count_rows(model, rows, options=RowOptions(), counting_server=servers[0] if servers else None)
    for number, count in enumerate(counts, 1):
        if isinstance(count, RowError):
            raise InvalidRequest(f"Row {number}: {count.message}", param="text")
    return [count for count in counts if isinstance(count, Usage)]


def _media(model: Model, media: Media) -> Usage:
    wanted: list[tuple[Modality, int | None]] = [("image", None)] * media.images
    wanted += [("audio", media.audio_seconds * 1000)] if media.audio_seconds else []
    wanted += [("video", media.video_seconds * 1000)] if media.video_seconds else []
    for modality, _ in wanted:
        if not countable(model, modality):
            raise InvalidRequest(
                f"{model.id} takes no {modality}, or what it becomes is not known here.", param="model"
            )
    items = [Measured(modality=modality, milliseconds=length, source="declared") for modality, length in wanted]
    try:
        return count_media(items, model=model, row="1")
    except RowError as refusal:
        raise InvalidRequest(refusal.message, param="media") from None
