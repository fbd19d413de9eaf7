"""The cap that nearly every answer of a job stays under, from the answers of a random sample of its rows. Pure.

A one-sided upper tolerance bound without assumptions about how lengths are spread (S. S. Wilks, "Determination of
sample sizes for setting tolerance limits", Annals of Mathematical Statistics 12, 1941): of n lengths drawn at random,
the one with k larger ones lies above SHARE of all rows with the probability that a binomial of n draws with chance
1 - SHARE comes out above k. The smallest n for which k = 0 reaches CONFIDENCE is 59.
"""

import random
from collections.abc import Sequence
from math import comb
from typing import Generic, TypeVar

SHARE = CONFIDENCE = 0.95
SMALLEST_SAMPLE = 59
# A few more, so that the bound holds with some confidence to spare.
SAMPLE_ROWS = 64
# Where too few of the sampled rows were answered for a bound, their longest answer gets this instead.
MARGIN_PERCENT = 125
CAP_STEP = 16

Item = TypeVar("Item")


def allowed_above(sampled: int) -> int | None:
    """How many of `sampled` lengths may be longer than the bound; None where no bound reaches the confidence."""
    longer = None
    below = 0.0
    for k in range(sampled):
        below += comb(sampled, k) * (1 - SHARE) ** k * SHARE ** (sampled - k)
        if 1 - below < CONFIDENCE:
            break
        longer = k
    return longer


def upper_bound(lengths: Sequence[int], *, rows: int) -> int | None:
    """The bound in tokens for a job of `rows` rows, of which `lengths` were measured; the longest where all were.

    None where too few were.
    """
    ordered = sorted(lengths, reverse=True)
    if len(ordered) == rows:
        return ordered[0]
    above = allowed_above(len(ordered))
    return None if above is None else ordered[above]


def cap(lengths: Sequence[int], *, rows: int, room: int) -> int:
    """The output cap in tokens: what 95 % of the rows stay under with 95 % confidence, in steps of 16, within the room.

    `lengths` are those of the sampled answers, of a job of `rows` rows (reference 001, max_output_tokens).
    """
    bound = upper_bound(lengths, rows=rows)
    if bound is None:
        bound = -(-max(lengths) * MARGIN_PERCENT // 100)
    return max(1, min(room, -(-bound // CAP_STEP) * CAP_STEP))


class Reservoir(Generic[Item]):
    """Keeps `size` of the items it is shown, every choice of them equally likely; the same again for the same seed."""

    def __init__(self, size: int, *, seed: int) -> None:
        self.items: list[Item] = []
        self._size = size
        self._seen = 0
        self._random = random.Random(seed)  # noqa: S311 - a sample is no secret

    def add(self, item: Item) -> None:
        """Show it one more."""
        self._seen += 1
        if len(self.items) < self._size:
            self.items.append(item)
        elif (place := self._random.randrange(self._seen)) < self._size:
            self.items[place] = item
