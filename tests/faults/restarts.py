"""Processes are replaced one by one, as an upgrade does, under clients that never send anything twice.

    make restarts ARGS="--rounds 10"

Two web processes on one inherited socket, two workers and the scheduler; the scene of test_restarts.py. Afterwards
every request was answered, every row is there once and was sent once, and the books are exact.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tests.faults.books import assert_books_agree, assert_ledger_adds_up, times_sent
from tests.faults.crowd import REALTIME, Crowd
from tests.stack import Stack

AT_WORK: Final = """
SELECT DISTINCT w.name FROM jobs_chunk c JOIN jobs_worker w ON w.id = c.epoch WHERE c.kind = 'rows' AND NOT c.closed
"""
WORKERS: Final = "SELECT count(*) FROM jobs_worker"
ANSWERED: Final = """
SELECT surface, status, count(*) FROM billing_usagerecord WHERE surface <> 'batch' GROUP BY 1, 2
"""
IN_FLIGHT: Final = """
SELECT (SELECT coalesce(sum(in_flight), 0)::bigint FROM billing_account),
       (SELECT count(*) FROM billing_hold WHERE settled_at IS NULL)
"""
PATIENCE_S: Final = 180.0
# Rows take a while, so that a worker that ends has some in hand.
DELAYED: Final = ("--delay-ms", "50")


@contextmanager
def platform(*, durable: bool, workers: int) -> Iterator[Stack]:
    """A lease of minutes: only what an ending worker gives back goes on in time."""
    with (
        tempfile.TemporaryDirectory(prefix="anex-restarts-", dir="/var/tmp") as folder,
        Stack(
            Path(folder), lease_seconds=300.0, concurrency=16, workers=workers, durable=durable, engine_options=DELAYED
        ) as stack,
    ):
        yield stack


@dataclass(slots=True)
class Figures:
    """How often what was replaced, and the longest that each took to end."""

    replaced: dict[str, int] = field(default_factory=dict)
    slowest_s: dict[str, float] = field(default_factory=dict)

    def note(self, kind: str, took_s: float) -> None:
        """One more was replaced."""
        self.replaced[kind] = self.replaced.get(kind, 0) + 1
        self.slowest_s[kind] = max(self.slowest_s.get(kind, 0.0), took_s)


class Restarts:
    """Replaces processes; each is a new one under a new name."""

    def __init__(self, stack: Stack, crowd: Crowd) -> None:
        self._stack = stack
        self._crowd = crowd
        self._webs = ["web", "web-1"]
        self._started = 1
        self.figures = Figures()

    async def webs(self, times: int) -> None:
        """One after the other, each started before the next ends."""
        for _ in range(times):
            old = self._webs.pop(0)
            await self._end("web", self._stack.processes[old], -signal.SIGTERM)
            await self._start_web()
            await self._crowd.has_answers(2)

    async def lone_web(self) -> None:
        """There is one only: connections wait in the socket until it is there again."""
        await self._end("web", self._stack.processes[self._webs.pop()], -signal.SIGTERM)
        await self._end("web", self._stack.processes[self._webs.pop()], -signal.SIGTERM)
        for _ in range(2):
            await self._start_web()
        await self._crowd.has_answers(2)

    async def workers(self, times: int) -> None:
        """Each while it has rows in hand."""
        alive = self._stack.query(WORKERS)
        for _ in range(times):
            await self._end("worker", await self._one_at_work(), 0)
            self._stack.start_worker(f"worker-{self._next()}")
            await self._until(lambda: self._stack.query(WORKERS) == alive)

    async def schedulers(self, times: int) -> None:
        """One is enough, and none for a while harms nobody."""
        for number in range(times):
            process = self._start_scheduler()
            await self._until(partial(self._has_begun, number + 1))
            await self._end("scheduler", process, 0)

    async def start_second_web(self) -> None:
        """The one that is not of the stack."""
        await self._start_web(self._webs.pop())

    async def _start_web(self, name: str = "") -> None:
        name = name or f"web-{self._next()}"
        self._stack.start_web(name)
        await asyncio.to_thread(self._stack.wait_for_web, name)
        self._webs.append(name)

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        schedule = str(self._stack.state / "schedule")
        command = ["-m", "celery", "-A", "anex", "beat", "-s", schedule, "--pidfile="]
        return self._stack.start("scheduler", command)

    def _has_begun(self, times: int) -> bool:
        return (self._stack.state / "scheduler.log").read_bytes().count(b"The scheduler is ready") == times

    async def _end(self, kind: str, process: subprocess.Popen[bytes], status: int) -> None:
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        found = await asyncio.to_thread(process.wait, PATIENCE_S)
        assert found == status, (kind, found)
        self.figures.note(kind, time.monotonic() - began)

    async def _one_at_work(self) -> subprocess.Popen[bytes]:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                names = [name for (name,) in await asyncio.to_thread(self._stack.query, AT_WORK)]
                for process in self._stack.processes.values():
                    if process.poll() is None and any(name.endswith(f":{process.pid}") for name in names):
                        return process
                await asyncio.sleep(0.02)

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(holds):
                await asyncio.sleep(0.1)

    def _next(self) -> int:
        self._started += 1
        return self._started


async def play(stack: Stack, crowd: Crowd, *, webs: int, workers: int, schedulers: int = 0) -> Figures:
    """So many are replaced while the crowd asks; where schedulers are, all web processes at once in the end."""
    restarts = Restarts(stack, crowd)
    await crowd.is_expected()
    await restarts.start_second_web()
    async with crowd:
        await crowd.has_answers(2)
        await asyncio.gather(restarts.webs(webs), restarts.workers(workers), restarts.schedulers(schedulers))
        if schedulers:
            await restarts.lone_web()
    return restarts.figures


def check(stack: Stack, crowd: Crowd) -> None:
    """Nothing failed, every row is there once and was sent once, and the books are exact."""
    assert not crowd.wrong, crowd.wrong[:5]
    for number, (job_id, lines) in enumerate(crowd.jobs.items()):
        assert_books_agree(stack, job_id, lines)
        assert set(times_sent(stack, f"job{number}").values()) == {1}
    deadline = time.monotonic() + 10
    while stack.query(IN_FLIGHT) != [(0, 0)]:
        assert time.monotonic() < deadline, stack.query(IN_FLIGHT)
        time.sleep(0.05)
    answered = {surface: sum(crowd.seen[kind] for kind in kinds) for surface, kinds in REALTIME.items()}
    found = {surface: count for surface, status, count in stack.query(ANSWERED) if status == "answered"}
    assert {surface: found.get(surface, 0) for surface in answered} == answered, found
    assert all(status == "answered" for _, status, _ in stack.query(ANSWERED))
    assert_ledger_adds_up(stack)


def main() -> int:
    """Play, compare, tell; 1 where something was lost."""
    parser = argparse.ArgumentParser(prog="make restarts", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="how often each process is replaced")
    parser.add_argument("--rows", type=int, default=400, help="rows of each of the jobs")
    asked, began = parser.parse_args(), time.monotonic()
    times = asked.rounds
    with platform(durable=True, workers=2) as stack:
        crowd = Crowd(stack, rows=asked.rows)
        figures = asyncio.run(play(stack, crowd, webs=2 * times, workers=2 * times, schedulers=times))
        print(f"{time.monotonic() - began:.0f} s; replaced: {figures.replaced}")
        print("slowest end: " + ", ".join(f"{kind} {took:.1f} s" for kind, took in figures.slowest_s.items()))
        print(f"answered: {dict(crowd.seen)}; jobs of {asked.rows} rows: {len(crowd.jobs)}")
        print(f"failed: {len(crowd.wrong)} {crowd.wrong[:10]}")
        try:
            check(stack, crowd)
        except AssertionError:
            for log in sorted(stack.state.glob("web*.log")):
                print("".join(line for line in log.open() if "WARNING" in line or "ERROR" in line)[:4000])
            raise
    print("every row once, sent once; books exact")
    return 0


if __name__ == "__main__":
    sys.exit(main())
