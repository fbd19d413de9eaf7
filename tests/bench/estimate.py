"""How often estimates hold: 3,000 jobs with heavy-tailed answers, half of them with thinking, each sized by a sample.

Run by `make bench-estimate`; prints each figure beside its target and exits 1 where one is missed.
"""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from anex.core.usage import Usage
from billing import pricing
from billing.pricing import PriceCard, Rates
from jobs import expectation, sizing, tolerance
from jobs.run.drawing import Sampler
from jobs.sizing import Length, Limits, Sizes

JOBS, ROOM, INPUT_TOKENS = 3_000, 32_768, 200
RATES = Rates(input=100_000_000, output=400_000_000)
CARD = PriceCard(model="m", starts_at=datetime(2025, 1, 1, tzinfo=UTC), text=RATES)
Draw = Callable[[random.Random], float]
SHAPES: dict[str, Draw] = {
    "lognormal": lambda dice: dice.lognormvariate(5, 1.2),
    "Pareto": lambda dice: 40 * dice.paretovariate(1.3),
    "exponential": lambda dice: dice.expovariate(1 / 300),
    "7 % of rows long": lambda dice: (
        dice.lognormvariate(4, 0.3) if dice.random() < 0.93 else dice.uniform(3_000, 6_000)
    ),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one job: whether 95 % of its rows stay under its cap (and their thinking under its budget), whether its
    charge stays within its quote and its mean answer in the interval, and how wide that is beside the mean."""

    capped: bool
    budgeted: bool
    paid: bool
    expected: bool
    width: float


def job(dice: random.Random, draw: Draw, *, thinks: bool) -> Outcome | None:
    """A job of one shape; None where it could not be sized."""
    rows = dice.choice((100, 1_000, 5_000))
    lengths = [_length(dice, draw, thinks=thinks) for _ in range(rows)]
    sampler, places = Sampler(tolerance.SAMPLE_ROWS, seed=dice.randrange(2**32)), np.arange(rows)
    sampler.add(places, places)
    drawn = [lengths[row] for row, _, _ in sampler.rows]
    try:
        sizes = sizing.size(drawn, Limits(rows, ROOM, budgeted=thinks))
    except sizing.Misfit:
        return None
    written = [sizes.written(length) for length in lengths]
    mean = expectation.mean([sizes.written(length) for length in drawn], rows=rows, most=sizes.output_cap)
    thoughts = sum(length.thought <= (sizes.reasoning_budget or ROOM) for length in lengths)
    return Outcome(
        capped=_fitting(lengths, sizes) >= tolerance.SHARE * rows,
        budgeted=thoughts >= tolerance.SHARE * rows,
        paid=_paid(written, sizes),
        expected=mean.low <= sum(written) / rows <= mean.high,
        width=(mean.high - mean.low) / mean.expected,
    )


def _length(dice: random.Random, draw: Draw, *, thinks: bool) -> Length:
    thinking = 1 + int(draw(dice)) if thinks else 0
    output = thinking + 1 + int(dice.lognormvariate(4, 0.8) if thinks else draw(dice))
    return Length(min(output, ROOM), min(thinking, ROOM), cut=output > ROOM)


def _fitting(lengths: list[Length], sizes: Sizes) -> int:
    unlimited = Sizes(10**9, sizes.reasoning_budget)
    return sum(unlimited.written(length) <= sizes.output_cap for length in lengths)


def _paid(written: list[int], sizes: Sizes) -> bool:
    rows = len(written)
    quote = pricing.quote_nano(CARD, rows=rows, input_tokens=rows * INPUT_TOKENS, output_cap=sizes.output_cap)
    spent = sum(pricing.row_cost_nano(CARD, Usage(input_tokens=INPUT_TOKENS, output_tokens=n)) for n in written)
    return (
        spent <= quote
        and pricing.charge_nano(CARD, quote_nano=quote, delivered_nano=spent, delivered_rows=rows) <= quote
    )


def main() -> int:
    """Every shape in turn, without and with thinking, then all together."""
    dice, groups, each = random.Random(2026), list[list[Outcome]](), JOBS // len(SHAPES) // 2
    print(f"{'':<28} {'rows under cap':>15} {'under budget':>13} {'cost in interval':>17} {'its width':>10}")
    for thinks in (False, True):
        for name, draw in SHAPES.items():
            found = [job(dice, draw, thinks=thinks) for _ in range(each)]
            sized = [outcome for outcome in found if outcome]
            groups.append(sized)
            _print(f"{name}{', thinking' if thinks else ''}", sized, each - len(sized))
    everything = [outcome for group in groups for outcome in group]
    _print("all", everything, JOBS - len(everything))
    least = min(_share(group, field) for group in groups for field in ("capped", "budgeted"))
    expected, paid = _share(everything, "expected"), sum(outcome.paid for outcome in everything)
    print(f"{'least share under cap or budget':<40} {least:7.1%}   target at least 95 %")
    print(f"{'cost in its 90 % interval':<40} {expected:7.1%}   target at least 90 %")
    print(f"{'charge ≤ quote':<40} {paid / len(everything):7.1%}   target 100 %")
    met = (least >= tolerance.CONFIDENCE, expected >= expectation.CONFIDENCE, paid == len(everything))
    return 0 if all(met) else 1


def _print(name: str, jobs: list[Outcome], unsized: int) -> None:
    figures = [_share(jobs, field) for field in ("capped", "budgeted", "expected")]
    width = median(outcome.width for outcome in jobs)
    shown = "{:<28} {:15.1%} {:13.1%} {:17.1%} {:10.0%}".format(name, *figures, width)
    print(shown + (f"   {unsized} could not be sized" if unsized else ""))


def _share(jobs: list[Outcome], field: str) -> float:
    return sum(getattr(outcome, field) for outcome in jobs) / len(jobs)


if __name__ == "__main__":
    sys.exit(main())
