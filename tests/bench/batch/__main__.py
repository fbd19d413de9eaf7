"""`make bench-batch`: jobs through the whole pipeline beside a bare loop over the same file, in one run.

Ratios are taken within rounds, because the machine is rarely quiet. Each figure is printed beside its target; exits 1
when one is missed, 2 when the benchmark cannot run here. ARGS="--sizes 10000,100000,1000000" adds a million rows.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.bench.batch.rounds import Run, run_floor, run_job, write_rows
from tests.bench.batch.scene import scene
from tests.bench.gateway.programs import Missing
from tests.bench.gateway.report import Verdict
from tests.stack import Stack

Pair = tuple[Run, Run]


def options() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="make bench-batch", usage='make bench-batch ARGS="…"')
    parser.add_argument("--rows", type=int, default=50_000, help="of a job of a round (default: 50,000)")
    parser.add_argument("--rounds", type=int, default=5, help="a bare loop and a job each (default: 5)")
    parser.add_argument("--concurrency", type=int, default=128, help="rows in flight (default: 128)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="(default: one per core)")
    parser.add_argument("--sizes", default="10000,100000", help="rows of the jobs whose costs are compared")
    return parser.parse_args()


def show(name: str, run: Run) -> None:
    """One pass, for those who watch."""
    shares = ", ".join(f"{process} {run.cpu_per_row(process):.0f}" for process in run.cpu)
    print(f"{name}: {run.rate:,.0f} rows/s in {run.seconds:.1f} s; µs of CPU per row: {shares}", flush=True)


def compare(stack: Stack, upstream: int, folder: Path, chosen: argparse.Namespace) -> list[Pair]:
    """Rounds of both over the same file; each begins with the other."""
    path, pairs = write_rows(folder / "rows.jsonl", chosen.rows), []
    for number in range(chosen.rounds):
        print(f"the machine's load is {os.getloadavg()[0]:.1f}", flush=True)
        job: Run | None = run_job(stack, path, chosen.rows) if number % 2 else None
        floor = run_floor(path, upstream, chosen.concurrency)
        job = job or run_job(stack, path, chosen.rows)
        show(f"round {number + 1}, bare loop", floor)
        show(f"round {number + 1}, job", job)
        pairs.append((floor, job))
    return pairs


def curve(stack: Stack, folder: Path, sizes: list[int]) -> list[Run]:
    """A job of each size."""
    runs = []
    for rows in sizes:
        path = write_rows(folder / f"{rows}.jsonl", rows)
        run = run_job(stack, path, rows, counts_writes=True)
        path.unlink()
        show(f"{rows:,} rows", run)
        print(
            f"  {run.chunks:,} chunks, {run.parts:,} parts, {run.written:,} rows written by Postgres;"
            f" finalized in {run.finalizing:.2f} s, {run.result_bytes / 1e6 / run.finalizing:,.0f} MB/s",
            flush=True,
        )
        runs.append(run)
    return runs


def judge(pairs: list[Pair], runs: list[Run]) -> list[Verdict]:
    """The figures beside their targets."""

    def within(figure: Callable[[Run], float]) -> float:
        return median(figure(job) / figure(floor) for floor, job in pairs)

    def spread(figure: Callable[[Run], float]) -> float:
        found = [figure(run) for run in runs]
        return max(found) / min(found)

    def per_row(run: Run) -> float:
        return run.finalizing / run.rows

    worker = within(lambda run: run.cpu_per_row("worker", "floor"))
    return [
        Verdict("rows/s by the bare loop's", within(lambda run: run.rate), 0.7, 0.85, is_least=True),
        Verdict("CPU of the workers by the bare loop's", worker, 3),
        Verdict("CPU per row, largest by smallest", spread(lambda run: run.cpu_per_row("worker", "postgres")), 1.2),
        Verdict("Postgres rows per chunk, largest by smallest", spread(lambda run: run.written / run.chunks), 1.2),
        Verdict("finalizing per row, last size by first", per_row(runs[-1]) / per_row(runs[0]), 1.2),
    ]


def main() -> int:
    """Run; the exit status."""
    chosen = options()
    try:
        with scene(workers=chosen.workers, concurrency=chosen.concurrency) as (stack, upstream, folder):
            print("processes:", ", ".join(f"{name} {pid}" for name, pid in stack.pids().items()), flush=True)
            pairs = compare(stack, upstream, folder, chosen)
            runs = curve(stack, folder, [int(size) for size in chosen.sizes.split(",") if size])
        verdicts = judge(pairs, runs)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    print("\n" + "\n".join(map(str, verdicts)))
    return int(any(verdict.missed for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
