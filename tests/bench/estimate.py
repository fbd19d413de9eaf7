"""How often the estimated cap holds: 3,000 jobs whose answers have heavy tails, each estimated from a random sample.

Run by `make bench-estimate`; prints each figure beside its target and exits 1 where one is missed.
"""

import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from anex.core.usage import Usage
from billing import pricing
from billing.pricing import PriceCard, Rates
from jobs import tolerance

JOBS, ROOM, INPUT_TOKENS = 3_000, 32_768, 200
RATES = Rates(input=100_000_000, output=400_000_000)
CARD = PriceCard(model="m", starts_at=datetime(2025, 1, 1, tzinfo=UTC), text=RATES)
Length = Callable[[random.Random], float]
SHAPES: dict[str, Length] = {
    "lognormal": lambda dice: dice.lognormvariate(5, 1.2),
    "Pareto": lambda dice: 40 * dice.paretovariate(1.3),
    "exponential": lambda dice: dice.expovariate(1 / 300),
    "7 % of rows long": lambda dice: (
        dice.lognormvariate(4, 0.3) if dice.random() < 0.93 else dice.uniform(3_000, 6_000)
    ),
}


def job(dice: random.Random, length: Length) -> tuple[bool, bool]:
    """Whether 95 % of a job's rows stay under its cap, and whether its charge stays within its quote."""
    rows = dice.choice((100, 1_000, 5_000))
    answers = [min(ROOM, 1 + int(length(dice))) for _ in range(rows)]
    reservoir: tolerance.Reservoir[int] = tolerance.Reservoir(tolerance.SAMPLE_ROWS, seed=dice.randrange(2**32))
    for answer in answers:
        reservoir.add(answer)
    drawn = reservoir.items
    cap = tolerance.cap(max(drawn), answered=len(drawn), rows=rows, room=ROOM)
    written = [min(answer, cap) for answer in answers]
    quote = pricing.quote_nano(CARD, rows=rows, input_tokens=rows * INPUT_TOKENS, output_cap=cap)
    spent = sum(pricing.row_cost_nano(CARD, Usage(input_tokens=INPUT_TOKENS, output_tokens=n)) for n in written)
    charge = pricing.charge_nano(CARD, quote_nano=quote, delivered_nano=spent, delivered_rows=rows)
    return sum(answer <= cap for answer in answers) >= tolerance.SHARE * rows, spent <= quote and charge <= quote


def main() -> int:
    """Every shape in turn, then all together."""
    dice, kept, within = random.Random(2026), 0, 0
    each = JOBS // len(SHAPES)
    for name, length in SHAPES.items():
        outcomes = [job(dice, length) for _ in range(each)]
        holds, paid = (sum(outcome) for outcome in zip(*outcomes, strict=True))
        kept, within = kept + holds, within + paid
        print(f"{name:<18} {holds / each:7.2%} of jobs have 95 % of their rows under the cap")
    total = each * len(SHAPES)
    print(f"all {total:,} jobs     {kept / total:7.2%}   target at least 95 %")
    print(f"charge ≤ quote     {within / total:7.2%}   target 100 %")
    return 0 if kept >= tolerance.CONFIDENCE * total and within == total else 1


if __name__ == "__main__":
    sys.exit(main())
