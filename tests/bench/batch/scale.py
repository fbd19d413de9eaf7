"""`make bench-scale`: what a row costs in jobs of growing size, up to the largest there may be.

    make bench-scale ARGS="--chats 10000,100000,1000000 --texts 10000000"    # hours, 10 GB of disk

Each job runs from upload to result; processor time and rows written by Postgres are those between approval and end,
memory is the largest of each process and its children. Prints figures beside targets; exits 1 when one is missed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench.batch.rounds import CHATS, EMBEDDINGS, Run, run_job, write_rows, write_texts
from tests.bench.batch.scene import scene
from tests.bench.gateway.programs import Missing
from tests.bench.gateway.report import Verdict
from tests.bench.memory import TARGET_MB, Watch
from tests.stack import Stack


def sizes(text: str) -> list[int]:
    """Numbers of rows."""
    return [int(size) for size in text.split(",") if size]


def options() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="make bench-scale", usage='make bench-scale ARGS="…"')
    parser.add_argument("--chats", type=sizes, default="10000,100000", help="rows of the jobs of chats")
    parser.add_argument("--texts", type=sizes, default="10000,100000", help="rows of the jobs of embeddings")
    parser.add_argument("--concurrency", type=int, default=128, help="rows in flight (default: 128)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="(default: one per core)")
    return parser.parse_args()


def run(
    stack: Stack, folder: Path, write: Callable[[Path, int], Path], order: Mapping[str, object], rows: Sequence[int]
) -> list[Run]:
    """A job of each size; memory is watched over all of them."""
    runs = []
    for size in rows:
        path = write(folder / "rows.jsonl", size)
        print(f"{order['model']}, {size:,} rows, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
        found = run_job(stack, path, size, order, counts_writes=True)
        shares = ", ".join(f"{process} {found.cpu_per_row(process):.0f}" for process in found.cpu)
        print(
            f"  {found.rate:,.0f} rows/s in {found.seconds:,.1f} s; µs of CPU per row: {shares}\n"
            f"  {found.chunks:,} chunks, {found.parts:,} parts, {found.written:,} rows written by Postgres\n"
            f"  finalized in {found.finalizing:.1f} s, {found.result_bytes / 1e6 / found.finalizing:,.0f} MB/s",
            flush=True,
        )
        runs.append(found)
    return runs


def judge(name: str, runs: Sequence[Run]) -> list[Verdict]:
    """How costs grow."""
    if len(runs) < 2:
        return []

    def spread(figure: Callable[[Run], float]) -> float:
        found = [figure(each) for each in runs]
        return max(found) / min(found)

    per_row = [each.finalizing / each.rows for each in runs]
    return [
        Verdict(f"{name}: CPU per row", spread(lambda each: each.cpu_per_row("worker", "postgres")), 1.2),
        Verdict(f"{name}: Postgres rows per chunk", spread(lambda each: each.written / each.chunks), 1.2),
        Verdict(f"{name}: finalizing per row, last by first", per_row[-1] / per_row[0], 1.2),
    ]


def main() -> int:
    """Run; the exit status."""
    chosen = options()
    try:
        with scene(workers=chosen.workers, concurrency=chosen.concurrency) as (stack, _, folder):
            watch = Watch(stack.pids())
            watch.start()
            chats = run(stack, folder, write_rows, CHATS, chosen.chats)
            texts = run(stack, folder, write_texts, EMBEDDINGS, chosen.texts)
            watch.stopped = True
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    verdicts = judge("chats", chats) + judge("texts", texts)
    verdicts += [Verdict(f"memory of {name}", peak, TARGET_MB, unit="MB") for name, peak in watch.peaks.items()]
    print("\n" + "\n".join(map(str, verdicts)))
    return int(any(verdict.missed for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
