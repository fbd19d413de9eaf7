"""What nearly every row of a job stays under, from the lengths of a random sample of its rows. Pure.

A one-sided upper tolerance bound without assumptions about how lengths are spread (S. S. Wilks, "Determination of
sample sizes for setting tolerance limits", Annals of Mathematical Statistics 12, 1941): the longest of n lengths drawn
at random lies above a share p of all rows with confidence 1 - p^n. For 95 % of the rows and 95 % confidence, n is 59.
The same holds for answers and for thinking.
"""

import math
from collections.abc import Sequence

SHARE = CONFIDENCE = 0.95
SMALLEST_SAMPLE = 59
# A few more, so that the bound holds with some confidence to spare.
SAMPLE_ROWS = 64
# Where too few of the sampled rows were answered for a bound, their longest answer gets this instead.
MARGIN_PERCENT = 125
STEP = 16


def bound(lengths: Sequence[float], *, rows: int, room: int) -> int:
    """What 95 % of `rows` rows stay under with 95 % confidence, in tokens: in steps of 16, from 1 to `room`.

    `lengths` are those of the sample, infinite where a row was cut off before its length was known. Where all `rows`
    were measured, none is longer than the longest.
    """
    longest = max(lengths)
    if len(lengths) < min(SMALLEST_SAMPLE, rows):
        longest = longest * MARGIN_PERCENT / 100
    return max(1, int(min(room, math.ceil(longest / STEP) * STEP))) if longest < math.inf else room


def usual(lengths: Sequence[float]) -> float:
    """What at least 95 % of the lengths themselves do not exceed: the least such length."""
    return sorted(lengths)[math.ceil(SHARE * len(lengths)) - 1]
