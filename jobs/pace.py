"""How long a job takes, from how long the model's last jobs took to start and how fast they then went. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

# What its column holds; decades, so nothing is lost.
MOST_SECONDS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Pace:
    """Of a finished job: seconds from approval to its first part, then tokens a second; and tokens a row."""

    startup_seconds: float
    tokens_per_second: float
    tokens_per_row: float


def measure(
    *, approved_at: datetime, first_part_at: datetime, last_part_at: datetime, parts: int, tokens: int, rows: int
) -> Pace | None:
    """The pace of a job that committed `parts` parts with so many tokens and rows; None where it made none.

    The first part is made while starting up, so its share is left out of the throughput. A job of one moment only
    gives a lower bound: all its tokens over all its time.
    """
    if not tokens or not rows:
        return None
    startup = max(0.0, (first_part_at - approved_at).total_seconds())
    seconds = (last_part_at - first_part_at).total_seconds()
    made = tokens * (parts - 1) / parts
    if seconds <= 0 or not made:
        made, seconds = tokens, max(0.001, (last_part_at - approved_at).total_seconds())
    return Pace(startup, made / seconds, tokens / rows)


def expected_seconds(recent: Sequence[Pace], *, rows: int, tokens: float | None, most_per_row: int) -> int | None:
    """From approval to result, in whole seconds (reference 001, est_processing_seconds); None before the first job.

    Medians of the recent jobs, so that one that was held up promises nothing. `tokens` are what the job is to generate
    (or read, where nothing is generated); where that is unknown, rows are taken to write as those jobs' did, and at
    most `most_per_row`.
    """
    if not recent:
        return None
    if tokens is None:
        tokens = rows * min(median(pace.tokens_per_row for pace in recent), most_per_row)
    seconds = median(pace.startup_seconds for pace in recent) + tokens / median(
        pace.tokens_per_second for pace in recent
    )
    return max(1, round(min(seconds, MOST_SECONDS)))
