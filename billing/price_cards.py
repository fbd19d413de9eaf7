"""The price cards: one YAML file per model in `billing/prices/`, and in `prices` of the operator's folder of models.

A file lists the model's cards in order of their start; an edit of a price is a new card. A model without
a file has no price and is not sold. An operator's file takes the place of ours.
"""

from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec
from django.conf import settings

from anex.core import clock
from billing.pricing import NotSold, PriceCard

PRICES_DIR = Path(__file__).parent / "prices"


def current(model_id: str, read: tuple[Path, ...] | None = None) -> PriceCard | None:
    """The card in force now, or None where the model is not sold; of the folders of this installation by default."""
    files = (load(folder).get(model_id) for folder in read or folders())
    return in_force(next((cards for cards in files if cards), ()), clock.now())


def within(model_id: str, window: str) -> PriceCard | None:
    """What a job of this window costs now, or None where the model is not sold, or not with this window."""
    card = current(model_id)
    try:
        return card and card.within(window)
    except NotSold:
        return None


def folders(models: Path | None = None) -> tuple[Path, ...]:
    """Where cards are read from: the operator's folder, `models` where it is not deployed yet, then our own."""
    own: Path | None = models or settings.ANEX_MODELS_DIR
    return (own / "prices", PRICES_DIR) if own else (PRICES_DIR,)


def in_force(cards: tuple[PriceCard, ...], at: datetime) -> PriceCard | None:
    """The last of a model's cards that has started by `at`."""
    return next((card for card in reversed(cards) if card.starts_at <= at), None)


@cache
def load(folder: Path) -> dict[str, tuple[PriceCard, ...]]:
    """Every model's cards in order of their start; ValueError names the file that is wrong."""
    return {path.stem: _read(path) for path in sorted(folder.glob("*.yaml"))}


def _read(path: Path) -> tuple[PriceCard, ...]:
    try:
        cards = msgspec.yaml.decode(path.read_bytes(), type=tuple[PriceCard, ...])
        for card in cards:
            for window in card.windows:
                PriceCard.thaw(card.within(window).frozen())
    except msgspec.DecodeError as error:
        raise ValueError(f"{path.name}: {error}") from error
    if not cards:
        raise ValueError(f"{path.name}: at least one card is needed")
    if any(card.model != path.stem for card in cards):
        raise ValueError(f"{path.name}: every card must name the model {path.stem}")
    starts = [card.starts_at for card in cards]
    if any(start.tzinfo is None for start in starts):
        raise ValueError(f"{path.name}: starts_at needs a time zone")
    if any(later <= earlier for earlier, later in pairwise(starts)):
        raise ValueError(f"{path.name}: each card must start after the one above it")
    return cards
