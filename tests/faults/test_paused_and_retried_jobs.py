"""Jobs that are paused, resumed and retried while workers are killed: every row once, whichever job delivers it."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.books import assert_books_agree, assert_ledger_adds_up, chat_lines, times_sent
from tests.faults.test_worker_faults import CONCURRENCY, LEASE, incarnations, start_job, wait_for_progress
from tests.sizes import sized
from tests.stack import Stack

ROWS = sized(2_500, 4_000)
BUFFER = 128
SILENCE_S = 3.0  # longer than the two seconds after which a worker looks by itself


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    options = ("--delay-ms", "60")
    with (
        tempfile.TemporaryDirectory(prefix="anex-moves-", dir="/var/tmp") as folder,
        Stack(Path(folder), lease_seconds=LEASE, concurrency=CONCURRENCY, engine_options=options) as running,
    ):
        running.start_worker("worker-1")
        yield running


def sent(stack: Stack, prefix: str) -> int:
    return sum(times_sent(stack, prefix).values())


def quiet(stack: Stack, prefix: str, job_id: str) -> int:
    """The rows that were sent, once every one of them is done and a worker that looks by itself sent no more."""
    deadline = time.monotonic() + 60
    while True:
        before = sent(stack, prefix)
        time.sleep(SILENCE_S)
        done = stack.api("GET", f"/jobs/{job_id}")["progress"]["rows_done"]
        if sent(stack, prefix) == before == done:
            return before
        assert time.monotonic() < deadline, (before, done)


@pytest.mark.slow
def test_paused_job_sends_nothing_though_a_worker_dies_and_then_goes_on(stack: Stack) -> None:
    lines = chat_lines(ROWS, prefix="rest")
    job_id = start_job(stack, lines)
    assert wait_for_progress(stack, "rest", 400, job_id)
    assert stack.api("POST", f"/jobs/{job_id}/pause")["paused"] is True
    before = quiet(stack, "rest", job_id)
    assert before < ROWS
    begun = incarnations(stack)
    stack.kill("worker-0")
    stack.start_worker()
    deadline = time.monotonic() + 60
    while incarnations(stack) == begun:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert quiet(stack, "rest", job_id) == before
    assert stack.api("GET", f"/jobs/{job_id}")["status"] == "in_progress"
    stack.api("POST", f"/jobs/{job_id}/resume")
    stack.wait_for(job_id, "done")
    assert_books_agree(stack, job_id, lines)
    assert set(times_sent(stack, "rest").values()) == {1}


@pytest.mark.slow
def test_retry_of_a_cancelled_job_delivers_exactly_the_rest_through_kills(stack: Stack) -> None:
    lines = chat_lines(ROWS, prefix="again")
    first = start_job(stack, lines)
    assert wait_for_progress(stack, "again", ROWS // 3, first)
    stack.api("POST", f"/jobs/{first}/cancel")
    stack.wait_for(first, "cancelled")
    delivered = {line["custom_id"] for line in stack.result(first)}
    assert 0 < len(delivered) < ROWS

    second = stack.api("POST", f"/jobs/{first}/retry")["id"]
    for name in ("worker-0", "worker-1"):  # one of them is at its check, or will be
        stack.kill(name)
        stack.start_worker(name)
    stack.wait_for(second, "cost_ready")
    stack.api("POST", f"/jobs/{second}/approve")
    assert wait_for_progress(stack, "again", len(delivered) + 300, second)
    stack.kill("worker-0")
    stack.start_worker()
    stack.wait_for(second, "done")
    rest = [line for line in lines if line.split('"')[3] not in delivered]
    assert_books_agree(stack, second, rest)
    assert_books_agree(stack, first, lines, complete=False)
    assert sent(stack, "again") - ROWS <= CONCURRENCY + BUFFER
    assert_ledger_adds_up(stack)
