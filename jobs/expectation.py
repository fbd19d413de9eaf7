"""What a job's rows write on average, with an interval of 90 %, from a sample of them. Pure.

Lengths have heavy right tails, for which the usual interval misses on one side. So the skewness is taken out by Hall's
cubic transformation (P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society
B 54, 1992), with Student's quantile and the finite population correction: what was sampled is part of the job and is
taken to come out much the same again. No row writes more than the cap, so neither does the mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

CONFIDENCE = 0.90
# From fewer lengths no spread is read.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Mean:
    """Tokens a row writes on average: expected, and from `low` to `high`."""

    expected: float
    low: float
    high: float


def mean(written: Sequence[int], *, rows: int, most: int) -> Mean:
    """The mean over `rows` rows of which `written` were measured, none above `most`; exact where all were."""
    count, average = len(written), fmean(written)
    if count >= rows:
        return Mean(average, average, average)
    least = sum(written) / rows
    if count < FEWEST:
        return Mean(average, least, most)
    spread = math.sqrt(sum((length - average) ** 2 for length in written) / (count - 1))
    if not spread:
        return Mean(average, average, average)
    skew = fmean((length - average) ** 3 for length in written) / spread**3 / math.sqrt(count)
    unit = spread / math.sqrt(count) * math.sqrt(1 - count / rows)
    student = _student(count - 1)
    low, high = average - unit * _unbend(student, skew), average - unit * _unbend(-student, skew)
    return Mean(average, max(least, min(low, average)), min(most, max(high, average)))


def _unbend(value: float, skew: float) -> float:
    """Hall's transformation, solved for the studentized mean."""
    if abs(skew) < 1e-9:
        return value
    return 3 / skew * (math.cbrt(1 + skew * (value - skew / 6)) - 1)


def _student(freedom: int) -> float:
    """The quantile of Student's distribution for one tail of the interval, by its expansion around the normal one."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
