"""The cap that nearly every answer of a job stays under, from the longest answer of a random sample of its rows. Pure.

A one-sided upper tolerance bound without assumptions about how lengths are spread (S. S. Wilks, "Determination of
sample sizes for setting tolerance limits", Annals of Mathematical Statistics 12, 1941): the longest of n lengths drawn
at random lies above a share p of all rows with confidence 1 - p^n. For 95 % of the rows and 95 % confidence, n is 59.
"""

import random
from typing import Generic, TypeVar

SHARE = CONFIDENCE = 0.95
SMALLEST_SAMPLE = 59
# A few more, so that the bound holds with some confidence to spare.
SAMPLE_ROWS = 64
# Where too few of the sampled rows were answered for a bound, their longest answer gets this instead.
MARGIN_PERCENT = 125
CAP_STEP = 16

Item = TypeVar("Item")


def cap(longest: int, *, answered: int, rows: int, room: int) -> int:
    """The output cap in tokens: what 95 % of the rows stay under with 95 % confidence, in steps of 16, within the room.

    `longest` is the longest of the `answered` answers of the sample, of a job of `rows` rows (reference 001,
    max_output_tokens); a job that was measured whole has no row above it.
    """
    if answered < min(SMALLEST_SAMPLE, rows):
        longest = -(-longest * MARGIN_PERCENT // 100)
    return max(1, min(room, -(-longest // CAP_STEP) * CAP_STEP))


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
