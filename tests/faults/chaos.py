"""Three jobs while everything they need is killed, restarted, emptied or away; then the books are compared.

    make chaos ARGS="--seeds 20 --rows 20000"

The scene of test_chaos.py. Objects are in S3, commits are durable, a client polls and asks in realtime all the while. A
seed decides what happens when; it is printed, and `--first SEED` plays it again.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Final

import pytest

from jobs.storage.s3 import connect
from tests.faults import chaos_books
from tests.faults.chaos_books import Order
from tests.jobs.storage import strict_s3
from tests.stack import Stack

BUCKET: Final = "anex-chaos"
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": strict_s3.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": strict_s3.SECRET}
WORKERS: Final = ("worker-0", "worker-1")
# Rows that a worker has in flight, and those that it has not made durable, at most.
AT_HAND: Final = 64 + 64


@dataclass(frozen=True, slots=True)
class Shape:
    """How large and how rough: rows of each job, how often each fault comes, seconds between two at most, and seconds
    that the store is away."""

    rows: int = 20_000
    times: int = 2
    gap_s: float = 4.0
    away_s: float = 10.0
    lease_s: float = 3.0
    patience_s: float = 900.0


class Faults:
    """What goes wrong, one thing after the other, and how long things stay so."""

    def __init__(self, stack: Stack, gate: strict_s3.Gate, dice: random.Random, shape: Shape) -> None:
        self._stack = stack
        self._gate = gate
        self._dice = dice
        self._shape = shape
        self._later: list[threading.Timer] = []

    def strike(self, goes_on: Callable[[], bool]) -> list[str]:
        """Every fault so many times, in any order, as long as it goes on; their names."""
        faults = [
            self.kill_worker,
            self.kill_worker,
            self.kill_web,
            self.restart_database,
            self.kill_database,
            self.empty_broker,
            self.kill_broker,
            self.close_store,
            self.kill_model_server,
        ] * self._shape.times
        self._dice.shuffle(faults)
        struck = []
        for fault in faults:
            time.sleep(self._dice.uniform(0, self._shape.gap_s))
            if not goes_on():
                break
            fault()
            struck.append(fault.__name__)
        for timer in self._later:
            timer.join()
        return struck

    def kill_worker(self) -> None:
        name = self._dice.choice(WORKERS)
        self._stack.kill(name)
        time.sleep(self._dice.uniform(0, 1))
        self._stack.start_worker(name)

    def kill_web(self) -> None:
        self._stack.kill("web")
        self._stack.start_web()

    def restart_database(self) -> None:
        self._stack.postgres.stop()
        self._stack.postgres.start()

    def kill_database(self) -> None:
        postgres = self._stack.postgres
        assert postgres.process
        postgres.process.kill()
        postgres.process.wait()
        postgres.release()
        time.sleep(self._dice.uniform(0, 1))
        postgres.start()

    def empty_broker(self) -> None:
        import redis

        with redis.Redis.from_url(self._stack.valkey.url()) as broker:
            broker.flushall()

    def kill_broker(self) -> None:
        valkey = self._stack.valkey
        assert valkey.process
        valkey.process.kill()
        valkey.process.wait()
        self.kill_worker()
        valkey.start()

    def close_store(self) -> None:
        """It answers 503 while other things happen."""
        self._gate.away = True
        timer = threading.Timer(self._shape.away_s, setattr, (self._gate, "away", False))
        timer.start()
        self._later.append(timer)

    def kill_model_server(self) -> None:
        self._stack.kill("engine")
        time.sleep(self._dice.uniform(0, 2))
        self._stack.start_engine()


class Client(threading.Thread):
    """Looks at the jobs and asks in realtime, over and over: it is answered, told to come back, or cut off."""

    def __init__(self, stack: Stack, job_ids: list[str]) -> None:
        super().__init__()
        self._stack = stack
        self._job_ids = job_ids
        self._done_rows = dict.fromkeys(job_ids, 0)
        self.over = threading.Event()
        self.ended: set[str] = set()
        self.answered = 0
        self.wrong: list[object] = []

    def run(self) -> None:
        while not self.over.wait(0.1):
            for job_id in self._job_ids:
                with suppress(OSError, HTTPException):
                    self._look(job_id)
            with suppress(OSError, HTTPException):
                self._ask()

    def _look(self, job_id: str) -> None:
        status, job = self._stack.request("GET", f"/jobs/{job_id}")
        if status != 200:
            self._expect(status == 503, status, job)
            return
        done = (job["progress"] or {}).get("done_rows", 0)
        self._expect(done >= self._done_rows[job_id], "rows were lost", job)
        self._done_rows[job_id] = done
        if job["status"] in ("done", "failed", "cancelled"):
            self.ended.add(job_id)

    def _ask(self) -> None:
        body = {"model": "scripted", "max_tokens": 8, "messages": [{"role": "user", "content": "hello"}]}
        status, answer = chaos_books.call(self._stack, "POST", "/v1/chat/completions", body)
        self._expect(status in (200, 429, 502, 503, 504), status, answer)
        self.answered += status == 200

    def _expect(self, holds: bool, *what: object) -> None:
        if not holds:
            self.wrong.append(what)


@contextmanager
def platform(shape: Shape) -> Iterator[tuple[Stack, strict_s3.Gate]]:
    """Two workers, a web process, a model server, the database with durable commits, and a store that can be closed."""
    with (
        pytest.MonkeyPatch.context() as patch,
        strict_s3.gate() as gate,
        tempfile.TemporaryDirectory(prefix="anex-chaos-", dir="/var/tmp") as folder,
    ):
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        connect(endpoint_url=gate.url, region=strict_s3.REGION).create_bucket(Bucket=BUCKET)
        environment = {
            "ANEX_S3_BUCKET": BUCKET,
            "ANEX_S3_ENDPOINT_URL": gate.url,
            "ANEX_S3_REGION": strict_s3.REGION,
        }
        with Stack(Path(folder), lease_seconds=shape.lease_s, workers=len(WORKERS), environment=environment) as stack:
            yield stack, gate


def play(stack: Stack, gate: strict_s3.Gate, seed: int, shape: Shape) -> str:
    """One round: three jobs, faults, and the comparison. Returns what happened; AssertionError where a book differs."""
    dice, began = random.Random(seed), time.monotonic()
    orders = [Order(f"{name}{seed}", dice, shape.rows, is_batch=name == "batch") for name in ("red", "blue", "batch")]
    job_ids = {order.submit(stack): order for order in orders}
    client = Client(stack, list(job_ids))
    client.start()
    try:
        struck = Faults(stack, gate, dice, shape).strike(lambda: len(client.ended) < len(job_ids))
        deadline = time.monotonic() + shape.patience_s
        while len(client.ended) < len(job_ids):
            assert time.monotonic() < deadline, [stack.api("GET", f"/jobs/{job_id}") for job_id in job_ids]
            time.sleep(0.2)
    finally:
        client.over.set()
        client.join()
    assert not client.wrong, client.wrong[:5]
    chaos_books.sweep(stack)
    twice = sum(chaos_books.check(stack, job_id, order) for job_id, order in job_ids.items())
    chaos_books.check_nothing_is_left(stack)
    chaos_books.check_realtime(stack, answered=client.answered, killed=struck.count("kill_web"))
    assert twice <= len(struck) * len(WORKERS) * AT_HAND
    return (
        f"{time.monotonic() - began:.0f} s, {len(struck)} faults ({', '.join(struck)}); of {3 * shape.rows:,} rows"
        f" {twice:,} were sent again; {client.answered} realtime answers"
    )


def main() -> int:
    """Play so many seeds, each with a platform of its own; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--rows", type=int, default=Shape().rows)
    chosen = parser.parse_args()
    shape, failed = Shape(rows=chosen.rows), []
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        try:
            with platform(shape) as (stack, gate):
                print(f"seed {seed}: {play(stack, gate, seed, shape)}", flush=True)
        except AssertionError as error:
            failed.append(seed)
            print(f"seed {seed} FAILED: {str(error)[:4000]}", flush=True)
    print(f"{chosen.seeds - len(failed)} of {chosen.seeds} seeds held" + (f"; failed: {failed}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
