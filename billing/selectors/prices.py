"""Reads of the price cards, for people: every version of every model's prices."""

from dataclasses import dataclass

from anex.core import clock
from billing import price_cards
from billing.pricing import PriceCard


@dataclass(frozen=True, slots=True)
class Version:
    """A card; `state` is past, in force or to come, `is_own` whether it is the operator's and not ours."""

    card: PriceCard
    state: str
    is_own: bool


def versions() -> list[Version]:
    """Every card by model, the latest first; of a model that the operator prices, the operator's alone."""
    now, found = clock.now(), {}
    for folder in reversed(price_cards.folders()):
        for model, cards in price_cards.load(folder).items():
            found[model] = (cards, folder != price_cards.PRICES_DIR)
    made = []
    for _, (cards, is_own) in sorted(found.items()):
        current = price_cards.in_force(cards, now)
        for card in reversed(cards):
            state = "in force" if card is current else "to come" if card.starts_at > now else "past"
            made.append(Version(card, state, is_own))
    return made
