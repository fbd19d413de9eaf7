"""`make bench-holds`: 200 threads spend one balance, all of them waiting for one row.

Every thread places and settles holds, a quarter of which the balance refuses. Prints how long a hold took beside the
target and exits 1 when the target is missed, the balance went below zero or the ledger does not add up. `THREADS` and
`HOLDS` in the environment make another crowd.
"""

import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any

TARGET_P99_MS = 2_000
THREADS = int(os.environ.get("THREADS", "200"))
HOLDS = int(os.environ.get("HOLDS", "20"))
NANO = 10_000_000


@dataclass
class Outcome:
    """What the crowd did: seconds of each hold, refusals, and the lowest `available` anyone saw."""

    seconds: list[float]
    refused: int
    lowest_nano: int


def spend(organization_id: Any, *, threads: int, holds_each: int) -> Outcome:
    """Run the crowd on one organization; every hold is a cent and is captured whole."""
    from django.db import connection

    from anex.core.actors import system
    from anex.core.errors import PaymentRequired
    from billing.selectors import balances
    from billing.services import holds

    barrier = Barrier(threads)
    actor = system("bench")

    def run(thread: int) -> Outcome:
        outcome = Outcome([], 0, 0)
        try:
            connection.ensure_connection()
            barrier.wait(timeout=120)
            for i in range(holds_each):
                source = f"bench:{organization_id}:{thread}:{i}"
                started = time.perf_counter()
                try:
                    holds.place(organization_id=organization_id, source=source, amount_nano=NANO, actor=actor)
                except PaymentRequired:
                    outcome.refused += 1
                else:
                    outcome.seconds.append(time.perf_counter() - started)
                    outcome.lowest_nano = min(outcome.lowest_nano, balances.get(organization_id).available_nano)
                    holds.settle(source=source, charge_nano=NANO, actor=actor)
        finally:
            connection.close()
        return outcome

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(run, range(threads)))
    return Outcome(
        [second for part in parts for second in part.seconds],
        sum(part.refused for part in parts),
        min(part.lowest_nano for part in parts),
    )


def main() -> int:
    """Run on a database of its own; the exit status."""
    import tests.services

    os.environ["DJANGO_SETTINGS_MODULE"] = "anex.settings.test"
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from anex.core.money import cents_to_nano
    from billing.selectors import balances
    from tests.factories import grant_credits, make_organization

    organization = make_organization("Acme")
    # Three quarters of what the crowd wants.
    cents = THREADS * HOLDS * 3 // 4
    grant_credits(organization, cents)
    started = time.perf_counter()
    outcome = spend(organization.pk, threads=THREADS, holds_each=HOLDS)
    whole = time.perf_counter() - started
    balance = balances.get(organization.pk)
    p50, p99 = (statistics.quantiles(outcome.seconds, n=100)[place] * 1000 for place in (49, 98))
    exact = balance.balance_nano == cents_to_nano(cents - len(outcome.seconds)) and balance.held_nano == 0
    missed = p99 > TARGET_P99_MS
    print(
        f"{THREADS} threads, {len(outcome.seconds):,} holds and settlements, {outcome.refused:,} refused, {whole:.1f} s"
    )
    print(f"a hold: p50 {p50:.1f} ms, p99 {p99:.1f} ms (target {TARGET_P99_MS}) {'MISSED' if missed else 'ok'}")
    print(f"lowest available seen: {outcome.lowest_nano} nano-dollars; the ledger is {'exact' if exact else 'WRONG'}")
    tests.services.stop()
    return int(missed or not exact or outcome.lowest_nano < 0)


if __name__ == "__main__":
    sys.exit(main())
