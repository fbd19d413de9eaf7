"""Workers that are killed, stopped, doubled: every row once, charged once, few rows sent twice."""

import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from jobs.services.doorbell import RING
from tests.faults.books import assert_books_agree, assert_ledger_adds_up, chat_lines, times_sent
from tests.sizes import sized
from tests.stack import Stack

KILLS, STOPS = sized(5, 20), sized(4, 20)
CONCURRENCY = 32
BUFFER = 128  # a part being written and the next one: a sixteenth of a chunk of 2,048 rows
LEASE = 1.5
# What a worker that loses its lease had not made durable.
AT_HAND = BUFFER + CONCURRENCY


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    options = ("--delay-ms", "60")
    with (
        tempfile.TemporaryDirectory(prefix="anex-faults-", dir="/var/tmp") as folder,
        Stack(Path(folder), lease_seconds=LEASE, concurrency=CONCURRENCY, engine_options=options) as running,
    ):
        yield running


def start_job(stack: Stack, lines: list[str]) -> str:
    job_id = stack.submit(lines, max_output_tokens=16)
    stack.wait_for(job_id, "cost_ready")
    stack.api("POST", f"/jobs/{job_id}/approve")
    return job_id


def wait_for_progress(stack: Stack, prefix: str, beyond: int, job_id: str) -> bool:
    """Wait until the model server has received more rows than `beyond`; False when the job ended instead."""
    deadline = time.monotonic() + 60
    while sum(times_sent(stack, prefix).values()) <= beyond:
        if stack.status(job_id) not in ("in_progress", "finalizing"):
            return False
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return True


def incarnations(stack: Stack) -> int:
    """How often a worker has begun: once per process, and again for each lease it lost, as on a busy machine."""
    return int(stack.query("SELECT last_value FROM jobs_worker_id_seq")[0][0])


@pytest.mark.slow
def test_kills_of_the_worker_lose_and_double_no_row(stack: Stack) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    rows = sized(2_500, 5_000)
    lines = chat_lines(rows, prefix="kill")
    job_id = start_job(stack, lines)
    kills = 0
    for _ in range(KILLS):
        if not wait_for_progress(stack, "kill", sum(times_sent(stack, "kill").values()), job_id):
            break
        time.sleep(moments.uniform(0, 0.5))
        stack.kill("worker-0")
        kills += 1
        stack.start_worker()
    stack.wait_for(job_id, "done", seconds=180)
    job = assert_books_agree(stack, job_id, lines)
    assert kills == KILLS
    assert job["success_rows"] + job["truncated_rows"] == rows
    twice = sum(count - 1 for count in times_sent(stack, "kill").values())
    assert twice <= kills * (CONCURRENCY + BUFFER)


@pytest.mark.slow
def test_stops_past_the_lease_lose_and_double_no_row(stack: Stack) -> None:
    """Two workers take turns at being stopped for longer than their lease, and go on as if nothing had happened."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    stack.start_worker("worker-1")
    rows = sized(1_250, 5_000)
    lines = chat_lines(rows, prefix="stop", content="[[sleep 300]]")
    job_id = start_job(stack, lines)
    assert wait_for_progress(stack, "stop", 0, job_id)
    for stop in range(STOPS):
        worker = stack.processes[f"worker-{stop % 2}"]
        time.sleep(moments.uniform(0, 0.3))
        worker.send_signal(signal.SIGSTOP)
        time.sleep(LEASE + moments.uniform(0, 0.5))
        worker.send_signal(signal.SIGCONT)
    assert stack.api("GET", f"/jobs/{job_id}")["status"] == "in_progress"
    stack.wait_for(job_id, "done", seconds=180)
    job = assert_books_agree(stack, job_id, lines)
    assert job["success_rows"] + job["truncated_rows"] == rows
    twice = sum(count - 1 for count in times_sent(stack, "stop").values())
    assert 0 < twice <= STOPS * (CONCURRENCY + BUFFER)
    stack.processes["worker-1"].send_signal(signal.SIGTERM)
    stack.processes["worker-1"].wait(40)


@pytest.mark.slow
def test_two_workers_share_a_job_and_send_no_row_twice(stack: Stack) -> None:
    before = incarnations(stack)
    stack.start_worker("worker-2")
    deadline = time.monotonic() + 60
    while incarnations(stack) == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    lines = chat_lines(4000, prefix="both")
    job_id = start_job(stack, lines)
    stack.wait_for(job_id, "done", seconds=120)
    epochs = stack.query(f"SELECT count(DISTINCT epoch) FROM jobs_chunk WHERE kind = 'rows' AND job_id = '{job_id}'")
    stack.processes["worker-2"].send_signal(signal.SIGTERM)
    stack.processes["worker-2"].wait(40)
    assert epochs != [(1,)]
    assert_books_agree(stack, job_id, lines)
    lapses = incarnations(stack) - before - 1
    assert sum(count - 1 for count in times_sent(stack, "both").values()) <= lapses * AT_HAND


@pytest.mark.slow
def test_a_lost_or_tripled_message_changes_nothing(stack: Stack) -> None:
    import redis

    broker = redis.Redis.from_url(stack.valkey.url())
    lines = chat_lines(300, prefix="bell")
    job_id = stack.submit(lines, max_output_tokens=16)
    broker.flushall()  # whatever was rung is lost
    stack.wait_for(job_id, "cost_ready")
    stack.api("POST", f"/jobs/{job_id}/approve")
    with Celery(broker=stack.valkey.url(), set_as_current=False) as ringer:
        for _ in range(3):
            ringer.control.broadcast(RING)
    stack.wait_for(job_id, "done")
    assert_books_agree(stack, job_id, lines)
    assert set(times_sent(stack, "bell").values()) == {1}
    broker.close()


@pytest.mark.slow
def test_cancel_in_the_middle_delivers_and_charges_what_finished(stack: Stack) -> None:
    lines = chat_lines(3000, prefix="halt")
    job_id = start_job(stack, lines)
    assert wait_for_progress(stack, "halt", 400, job_id)
    assert stack.api("POST", f"/jobs/{job_id}/cancel")["status"] == "cancelling"
    stack.wait_for(job_id, "cancelled")
    job = assert_books_agree(stack, job_id, lines, complete=False)
    assert job["partial"] is True
    assert 0 < job["success_rows"] + job["truncated_rows"] < 3000
    # Rows already running finish and are delivered: everything that was sent came back.
    assert job["success_rows"] + job["truncated_rows"] == len(times_sent(stack, "halt"))
    assert_ledger_adds_up(stack)


@pytest.mark.slow
def test_a_database_that_restarts_and_crashes_delays_a_job_and_no_more(stack: Stack) -> None:
    lines = chat_lines(3000, prefix="base")
    job_id = start_job(stack, lines)
    assert wait_for_progress(stack, "base", 300, job_id)
    stack.postgres.stop()
    status, answer = stack.request("GET", f"/jobs/{job_id}")
    assert (status, list(answer)) == (503, ["detail"])
    stack.postgres.start()
    for _ in range(2):
        wait_for_progress(stack, "base", sum(times_sent(stack, "base").values()) + 200, job_id)
        assert stack.postgres.process
        stack.postgres.process.kill()
        stack.postgres.process.wait()
        stack.postgres.release()
        stack.postgres.start()
    stack.wait_for(job_id, "done", seconds=120)
    assert_books_agree(stack, job_id, lines)
    assert_ledger_adds_up(stack)
    assert sum(count - 1 for count in times_sent(stack, "base").values()) <= 3 * AT_HAND
