"""Workers are ended beside others while they run rows, as an upgrade does: no row is lost or sent twice."""

import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.faults.books import assert_books_agree, assert_ledger_adds_up, chat_lines, times_sent
from tests.stack import Stack

JOBS, ROWS = 3, 300
AT_WORK = """
SELECT DISTINCT w.name FROM jobs_chunk c JOIN jobs_worker w ON w.id = c.epoch WHERE c.kind = 'rows' AND NOT c.closed
"""


def sent(stack: Stack) -> int:
    return sum(sum(times_sent(stack, f"job{number}").values()) for number in range(JOBS))


def wait_for_rows(stack: Stack, count: int) -> None:
    deadline = time.monotonic() + 60
    while sent(stack) < count:
        assert time.monotonic() < deadline, sent(stack)
        time.sleep(0.02)


def one_at_work(stack: Stack) -> subprocess.Popen[bytes]:
    """A worker that has rows in hand."""
    deadline = time.monotonic() + 60
    while True:
        names = [name for (name,) in stack.query(AT_WORK)]
        for process in stack.processes.values():
            if process.poll() is None and any(name.endswith(f":{process.pid}") for name in names):
                return process
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_workers_that_are_replaced_under_load_lose_no_row_and_send_none_twice() -> None:
    # With a lease of minutes only what an ending worker gives back goes on in time.
    options = {"lease_seconds": 300.0, "concurrency": 16, "durable": False, "engine_options": ("--delay-ms", "150")}
    with (
        tempfile.TemporaryDirectory(prefix="anex-restart-", dir="/var/tmp") as folder,
        Stack(Path(folder), workers=2, **options) as stack,  # type: ignore[arg-type]
    ):
        rows = {f"job{number}": chat_lines(ROWS, prefix=f"job{number}") for number in range(JOBS)}
        jobs = {name: stack.submit(lines, max_output_tokens=16) for name, lines in rows.items()}
        for job_id in jobs.values():
            stack.wait_for(job_id, "cost_ready")
        for name in ("worker-2", "worker-3"):
            stack.start_worker(name)
        deadline = time.monotonic() + 60
        while len(stack.query("SELECT id FROM jobs_worker")) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for job_id in jobs.values():
            stack.api("POST", f"/jobs/{job_id}/approve")
        wait_for_rows(stack, 32)
        for _ in range(2):
            at, ending = sent(stack), one_at_work(stack)
            ending.send_signal(signal.SIGTERM)
            assert ending.wait(60) == 0
            wait_for_rows(stack, at + 32)
        assert sent(stack) < JOBS * ROWS, "the jobs were over before both were replaced"
        for name, job_id in jobs.items():
            stack.wait_for(job_id, "done")
            assert assert_books_agree(stack, job_id, rows[name])["error_rows"] == 0
            assert set(times_sent(stack, name).values()) == {1}
        assert_ledger_adds_up(stack)
