"""Whatever jobs need is killed, restarted, emptied or away while three run: no row, cent, lease or hold differs.

`make chaos` plays twenty seeds with jobs of 20,000 rows.
"""

import random

import pytest

from tests.faults import chaos

SHORT = chaos.Shape(rows=500, times=1, gap_s=0.5, away_s=1.5, lease_s=1.5, patience_s=300)


@pytest.mark.slow
def test_three_jobs_survive_every_fault_with_exact_books() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with chaos.platform(SHORT) as (stack, gate):
        print(chaos.play(stack, gate, seed, SHORT))
