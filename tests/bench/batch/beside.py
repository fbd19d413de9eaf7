"""`make bench-beside`: how long a job of ten rows takes beside one of 100,000 rows of another organization.

Seconds from its approval to its end, alone and beside, medians over the rounds; exits 1 where the second is more than
three times the first.
"""

import argparse
import copy
import json
import sys
import threading
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.batch.rounds import Run, run_job, write_rows
from tests.bench.batch.scene import scene
from tests.bench.gateway.programs import Missing
from tests.bench.gateway.report import Verdict
from tests.stack import Stack

ROWS: Final = 10
_SETUP: Final = """
import json, django
django.setup()
from accounts.models import User
from accounts.services import keys, organizations
from anex.core.actors import system
from billing.services import grants
bob = User.objects.create_user("bob@example.com", "correct horse battery")
globex = organizations.create(name="Globex", owner_id=bob.pk, actor=system("setup"))
grants.give(organization_id=globex.pk, cents=1_000_000, reason="test", source="globex", actor=system("setup"))
print(json.dumps(keys.create(organization_id=globex.pk, name="test", actor=system("setup")).secret))
"""


def another_organization(stack: Stack) -> Stack:
    """The same platform, called with the key of somebody else."""
    other = copy.copy(stack)
    other.secret = json.loads(stack.run(_SETUP))
    return other


def compare(stack: Stack, folder: Path, *, rounds: int, rows: int) -> tuple[list[float], list[float]]:
    """Seconds of short jobs alone, and of as many beside one long job."""
    other, short = another_organization(stack), write_rows(folder / "short.jsonl", ROWS)
    run_job(other, short, ROWS)  # whatever is done once
    alone = [run_job(other, short, ROWS).seconds for _ in range(rounds)]
    print("alone:", ", ".join(f"{seconds:.2f} s" for seconds in alone), flush=True)
    found: list[Run] = []
    path = write_rows(folder / "long.jsonl", rows)
    long_one = threading.Thread(target=lambda: found.append(run_job(stack, path, rows)))
    long_one.start()
    while not stack.query("SELECT FROM jobs_part p JOIN jobs_chunk c ON c.id = p.chunk_id WHERE c.row_count > 10"):
        long_one.join(0.1)
    beside = []
    while long_one.is_alive() and len(beside) < rounds:
        beside.append(run_job(other, short, ROWS).seconds)
    assert long_one.is_alive(), "the long job was over too soon: give it more rows"
    print("beside:", ", ".join(f"{seconds:.2f} s" for seconds in beside), flush=True)
    long_one.join()
    print(f"the long job: {found[0].rate:,.0f} rows/s", flush=True)
    return alone, beside


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(prog="make bench-beside", usage='make bench-beside ARGS="…"')
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=300_000, help="of the long job")
    chosen = parser.parse_args()
    try:
        with scene(workers=1, concurrency=128) as (stack, _, folder):
            alone, beside = compare(stack, folder, rounds=chosen.rounds, rows=chosen.rows)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    verdict = Verdict("ten rows beside a long job, by alone", median(beside) / median(alone), 3)
    print(verdict)
    return int(verdict.missed)


if __name__ == "__main__":
    sys.exit(main())
