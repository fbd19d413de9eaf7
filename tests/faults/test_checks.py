"""A worker killed while its children check a file: they die with it, and another worker comes to the same verdict."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.memory import family
from tests.faults.books import chat_lines
from tests.stack import Stack

ROWS = 160_000


@pytest.fixture
def stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="anex-faults-", dir="/var/tmp") as folder,
        Stack(Path(folder), lease_seconds=1.5, durable=False) as running,
    ):
        yield running


def checking_children(worker: int) -> list[int]:
    """The children of a worker that check."""

    def command(process: int) -> bytes:
        try:
            return Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            return b""

    return [process for process in family(worker) if b"jobs.run.check_child" in command(process)]


def verdict(stack: Stack, job_id: str) -> Any:
    """What the check of a job came to, down to its chunks."""
    stack.wait_for(job_id, "cost_ready", seconds=180)
    chunks = stack.query(
        "SELECT index, first_row, row_count, byte_start, byte_end FROM jobs_chunk"
        f" WHERE job_id = '{job_id}' AND kind = 'rows' ORDER BY index"
    )
    (totals,) = stack.query(
        f"SELECT row_count, est_input_tokens, longest_row_tokens, quote_cents FROM jobs_job WHERE id = '{job_id}'"
    )
    return totals, chunks


@pytest.mark.slow
def test_a_check_goes_on_elsewhere_after_a_kill_and_comes_to_the_same(stack: Stack) -> None:
    lines = chat_lines(ROWS, content="word " * 25)
    undisturbed = verdict(stack, stack.submit(lines, max_output_tokens=16))
    assert undisturbed[0][0] == ROWS
    job_id = stack.submit(lines, max_output_tokens=16)
    worker = stack.processes["worker-0"].pid
    deadline = time.monotonic() + 60
    while not (children := checking_children(worker)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    stack.kill("worker-0")
    assert stack.api("GET", f"/jobs/{job_id}")["status"] == "estimating"
    while any(Path(f"/proc/{child}/cmdline").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    stack.start_worker("worker-1")
    assert verdict(stack, job_id) == undisturbed
