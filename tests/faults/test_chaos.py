"""Whatever jobs need is killed, restarted, emptied or away while three run: no row, cent, lease or hold differs.

`make chaos` plays twenty seeds with jobs of 20,000 rows.
"""

import random
from collections.abc import Iterator

import pytest

from tests.faults import chaos, chaos_books
from tests.jobs.storage.strict_s3 import Gate
from tests.stack import Stack

SHORT = chaos.Shape(rows=500, times=1, gap_s=0.5, away_s=1.5, lease_s=1.5, patience_s=300)


@pytest.fixture(scope="module")
def platform() -> Iterator[tuple[Stack, Gate]]:
    with chaos.platform(SHORT) as running:
        yield running


@pytest.mark.slow
def test_three_jobs_survive_every_fault_with_exact_books(platform: tuple[Stack, Gate]) -> None:
    print(chaos.play(*platform, 44004242, SHORT))


@pytest.mark.slow
def test_a_worker_that_starts_without_a_broker_runs_jobs(platform: tuple[Stack, Gate]) -> None:
    stack, _ = platform
    for worker in chaos.WORKERS:
        stack.kill(worker)
    stack.valkey.stop()
    stack.start_worker()
    order = chaos_books.Order("alone", random.Random(0), 20, is_batch=False)
    job_id = order.submit(stack)
    stack.wait_for(job_id, "done", seconds=60)
    chaos_books.check(stack, job_id, order)
