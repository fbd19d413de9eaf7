"""The models that anybody may read about, with what they cost and whether they answer here now."""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError

from anex.core import clock
from anex.core.money import cents_to_nano, format_dollars
from anex.docs import site
from anex.docs.library import Document
from anex.docs.tables import table
from billing import price_cards
from billing.pricing import Fees, PriceCard, Rates
from inference import catalogue
from inference.backends import registry
from inference.backends.registry import Standing
from inference.catalogue import Model
from inference.catalogue.schema import HubWeights, PackagedWeights

log = logging.getLogger(__name__)

TASKS: Final = {"chat": "text", "embed": "a vector", "decide": "decisions"}
_REASONING: Final = {
    "none": "no",
    "toggle": "can be switched on and off",
    "budget": "can be switched on and off, and capped",
    "effort": "can be switched on and off, and capped; has levels",
}
UNKNOWN: Final = "not published"
# What Markdown would not show as it is written.
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>#|~!&]")


# How long Postgres is left alone after it did not answer.
REST_S: Final = 5.0

_last: Standing = Standing([], frozenset(), {})
_rests_until = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A model, its price card in force (None: no price is known), and whether a server of it is here now.

    `off_reason` is why an operator switched it off; empty where none did.
    """

    model: Model
    card: PriceCard | None
    is_here: bool
    off_reason: str = ""

    @property
    def is_offered(self) -> bool:
        """Whether a job can name it here now."""
        card, media = self.card, self.model.media is not None
        return (
            self.is_here
            and self.model.countable
            and card is not None
            and (not media or card.sells("batch", media=True))
        )


def listed() -> list[Entry]:
    """Public models in the order of their tasks, those on offer first; the tests' own only where they are served."""
    standing = _standing_now()
    served = {server.model_id for server in standing.servers}
    public = [model for model in catalogue.all_models() if model.organization is None]
    entries = [
        Entry(model, price_cards.current(model.id), model.id in served, standing.off.get(model.id, ""))
        for model in public
    ]
    shown = [entry for entry in entries if entry.is_here or entry.off_reason or entry.model.tokenizer != "words"]
    return sorted(shown, key=lambda e: (not e.is_offered, list(TASKS).index(e.model.task), e.model.id))


def _standing_now() -> Standing:
    """As the registry has it; while Postgres is away as it last was, or as if no server were here."""
    global _last, _rests_until
    if clock.monotonic() >= _rests_until:
        try:
            _last = registry.standing(settings.ANEX_REGION)
        except (InterfaceError, OperationalError) as error:
            log.warning("the docs show how models last stood: %s", type(error).__name__)
            _rests_until = clock.monotonic() + REST_S
    return _last


def get(model_id: str) -> Entry | None:
    """One of them."""
    return next((entry for entry in listed() if entry.model.id == model_id), None)


def sample(entries: Sequence[Entry], task: str) -> str:
    """The model that samples name for a task: one that is on offer, else any."""
    return next((entry.model.id for entry in entries if entry.model.task == task), "your-model")


def document(entry: Entry) -> Document:
    """The page of a model."""
    model = entry.model
    description = f"{model.id} reads {_listed(model.inputs)} and returns {TASKS[model.task]}."
    parts = [f"# {model.id}", description + _standing(entry), "## Facts", table(("", ""), _facts(model))]
    if entry.card:
        parts += ["## Prices", "Prices are in US dollars per million tokens.", price_table([entry])]
        parts += [fee_table([entry]), _minimum(entry.card), "What a job of yours costs: [price calculator](/pricing)."]
    if model.media:
        parts += ["## Pictures and clips", media_table([entry])]
    if model.chat_template or model.files.chat_template:
        parts += [
            "## Chat template",
            f"[{model.id}.jinja](/static/chat-templates/{model.id}.jinja), byte for byte as it is published.",
        ]
    parts += [
        "## From the publisher",
        site.about_model(model.id) or "The operator of this installation has added nothing here.",
    ]
    return Document(f"/models/{model.id}", model.id, description, "\n\n".join(part for part in parts if part) + "\n")


def index(entries: Sequence[Entry]) -> Document:
    """The list of models."""
    description = "Every model of the catalogue, what it reads and returns, its room, and whether it is on offer here."
    return Document("/models", "Models", description, f"# Models\n\n{description}\n\n{model_table(entries)}\n")


def model_table(entries: Sequence[Entry]) -> str:
    """Ids and what they take."""
    rows = (
        (
            f"[`{entry.model.id}`](/models/{entry.model.id})",
            _listed(entry.model.inputs),
            TASKS[entry.model.task] + (", may think" if entry.model.reasoning != "none" else ""),
            f"{entry.model.context_tokens:,}",
            "yes" if entry.is_offered else "switched off" if entry.off_reason else "not now",
        )
        for entry in entries
    )
    return table(("model", "reads", "returns", "context, tokens", "on offer here"), rows)


def price_table(entries: Sequence[Entry]) -> str:
    """Dollars per million tokens of everything that has a price."""
    head = ("model", "rows", "input", "cached input", "output", "realtime input", "realtime cached", "realtime output")
    return table(head, (row for entry in entries if entry.card for row in _prices(entry.model, entry.card)))


def fee_table(entries: Sequence[Entry]) -> str:
    """What pictures and clips cost beside their tokens; empty where nothing does."""
    rows = [row for entry in entries if entry.card for row in _fees(entry.model.id, entry.card)]
    return (
        table(("model", "", "per image", "per clip", "per minute of video", "per minute of audio"), rows)
        if rows
        else ""
    )


def minimum_table(entries: Sequence[Entry]) -> str:
    """The least a job costs, and what the hour's window costs."""
    rows = (
        (
            f"`{entry.model.id}`",
            format_dollars(cents_to_nano(entry.card.minimum_job_cents)),
            f"{entry.card.windows['1h']} %" if "1h" in entry.card.windows else "not sold",
        )
        for entry in entries
        if entry.card
    )
    return table(("model", "minimum job price", "window of an hour, of the batch price"), rows)


def media_table(entries: Sequence[Entry]) -> str:
    """What pictures and clips become, and how long and large they may be."""
    rows = [row for entry in entries if entry.model.media for row in _media(entry.model)]
    return table(("model", "", "tokens", "longest", "inline at most"), rows) if rows else ""


def embedding_table(entries: Sequence[Entry]) -> str:
    """Widths of vectors."""
    rows = (
        (f"`{e.model.id}`", f"{e.model.embedding.dimensions:,}", f"{e.model.embedding.min_dimensions:,}")
        for e in entries
        if e.model.embedding
    )
    return table(("model", "dimensions", "narrowest"), rows)


def template_table(entries: Sequence[Entry]) -> str:
    """Chat templates that can be loaded, and where each was copied from."""
    rows = (
        (
            f"`{entry.model.id}`",
            f"[/static/chat-templates/{entry.model.id}.jinja](/static/chat-templates/{entry.model.id}.jinja)",
            (origin.source if (origin := entry.model.chat_template) else "") or UNKNOWN,
            f"`{origin.commit}`" if origin and origin.commit else UNKNOWN,
        )
        for entry in entries
        if entry.model.files.chat_template
    )
    return table(("model", "template", "copied from", "commit"), rows)


def rate(nano: int | None) -> str:
    """A rate per million tokens, or a dash where there is none."""
    return "–" if nano is None else format_rate(nano)


def format_rate(nano: int) -> str:
    """Dollars with every digit that is not zero, at least two behind the point."""
    whole, rest = divmod(nano, 1_000_000_000)
    return f"${whole}.{f'{rest:09d}'.rstrip('0').ljust(2, '0')}"


def _standing(entry: Entry) -> str:
    if entry.is_offered:
        return " It is on offer here."
    if entry.off_reason:
        return " It is switched off: " + _MARKUP.sub(r"\\\g<0>", entry.off_reason) + "."
    return " It is not on offer here now: " + (
        "no price is known." if entry.card is None else "no server of it answers."
    )


def _facts(model: Model) -> Iterator[tuple[str, str]]:
    yield "id", f"`{model.id}`"
    yield "reads", _listed(model.inputs)
    yield "returns", TASKS[model.task]
    yield (
        "context",
        f"{model.context_tokens:,} tokens" + (", input and output together" if model.task == "chat" else ""),
    )
    if model.visual_context_tokens:
        yield "context of rows with images or video", f"{model.visual_context_tokens:,} tokens"
    if model.max_output_tokens:
        yield "longest answer", f"{model.max_output_tokens:,} tokens"
        yield "thinking", _REASONING[model.reasoning]
    if model.effort_levels:
        yield (
            "levels of thinking",
            f"{_listed(model.effort_levels)}; {model.default_effort or UNKNOWN} unless you say so",
        )
    if model.embedding:
        yield (
            "dimensions",
            f"{model.embedding.dimensions:,}, or any narrower width from {model.embedding.min_dimensions}",
        )
    if model.decisions:
        yield "windows", ", ".join(f"{name} {tokens:,} tokens" for name, tokens in model.decisions.checkpoints.items())
    yield "weights", _weights(model)
    yield "answers in realtime", "yes" if model.realtime else "no, batch only"
    yield "regions it may run in", _listed(model.regions)


def _weights(model: Model) -> str:
    weights = model.weights
    if isinstance(weights, HubWeights):
        facts = (weights.repository, weights.revision, weights.precision, weights.license)
        return ", ".join(f"`{fact}`" for fact in facts if fact)
    if isinstance(weights, PackagedWeights):
        return f"`{weights.file}` of the package `{weights.distribution}`, {weights.license}"
    return UNKNOWN


def _prices(model: Model, card: PriceCard) -> Iterator[tuple[str, ...]]:
    name = f"[`{model.id}`](/models/{model.id})"
    yield name, "text" if card.media else "all", *_columns(card.text), *_columns(card.realtime)
    if card.media:
        yield name, "with media", *_columns(card.media), *_columns(card.realtime_media)


def _columns(rates: Rates | None) -> tuple[str, ...]:
    if rates is None:
        return ("–",) * 3
    return rate(rates.input), rate(rates.cached), rate(rates.output or None)


def _fees(model_id: str, card: PriceCard) -> Iterator[tuple[str, ...]]:
    for column, fees in (("batch", card.fees), ("realtime", card.realtime_fees)):
        if fees != Fees():
            by_minute = fees.video_minute + 60 * fees.video_second
            yield (
                f"`{model_id}`",
                column,
                *(_fee(nano) for nano in (fees.image, fees.clip, by_minute, fees.audio_minute)),
            )


def _fee(per_million: int) -> str:
    return format_rate(-(-per_million // 1_000_000)) if per_million else "–"


def _minimum(card: PriceCard) -> str:
    least = f"A job costs at least {format_dollars(cents_to_nano(card.minimum_job_cents))}."
    hour = f" Within an hour it costs {card.windows['1h']} % of the batch price." if "1h" in card.windows else ""
    return least + hour


def _media(model: Model) -> Iterator[tuple[str, ...]]:
    media, name = model.media, f"`{model.id}`"
    if media and (image := media.image):
        tokens = f"{image.max_tokens:,} an image" if image.max_tokens else UNKNOWN
        yield name, "image", tokens, "–", f"{image.max_inline_mb} MB"
    if media and (audio := media.audio):
        yield (
            name,
            "audio",
            f"{audio.tokens_per_second:g} a second",
            f"{audio.max_seconds:,} s",
            f"{audio.max_inline_mb} MB",
        )
    if media and (video := media.video):
        frames = f"{video.tokens_per_frame:,} a frame, " if video.tokens_per_frame else ""
        most = f", up to {video.max_fps:g}" if video.max_fps else ""
        longest = f"{video.max_seconds:,} s" if video.max_seconds else UNKNOWN
        yield (
            name,
            "video",
            f"{frames}{video.default_fps:g} frames a second{most}",
            longest,
            f"{video.max_inline_mb} MB",
        )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
