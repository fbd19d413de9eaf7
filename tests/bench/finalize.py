"""`make bench-finalize`: results of jobs of growing size, up to the largest there may be, are put together and settled.

    make bench-finalize ARGS="--sizes 100000,1000000,10000000"    # 8 GB of disk

Chunks and parts are written as workers leave them (parts of 32 rows, in any order, 270 bytes a line). A
process of its own finalizes a native job, then a batch. Prints time, processor time and memory beside a copy of as many
bytes; checks every line. Exits 1 where a row's time grows, or memory does.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.bench.admission import own_database
from tests.bench.gateway.report import Verdict
from tests.stack import ROOT

CHUNK, PART = 2048, 64
COST_NANO: Final = 1_000
TARGET_MB: Final = 600
TEXT: Final = "A ticket about exports that fail, which were tried again. "


@dataclass(frozen=True)
class Found:
    """One finalization: seconds, processor seconds, megabytes of memory and of the files it wrote."""

    rows: int
    seconds: float
    cpu: float
    memory_mb: float
    written_mb: float
    copy_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows: {self.seconds:.1f} s ({self.rows / self.seconds:,.0f} rows/s,"
            f" {self.written_mb / self.seconds:,.0f} MB/s; a copy {self.written_mb / self.copy_seconds:,.0f} MB/s),"
            f" {self.cpu / self.rows * 1e6:.2f} µs of CPU per row, {self.memory_mb:.0f} MB of memory"
        )


def line(row: int) -> bytes:
    """The result line of a chat row."""
    return (
        f'{{"custom_id":"row-{row}","response":{{"status_code":200,"body":{{"id":"chatcmpl-{row}","choices":'
        f'[{{"index":0,"message":{{"role":"assistant","content":"{TEXT}"}},"finish_reason":"stop"}}]}}}},'
        '"error":null,"error_type":null}'
    ).encode()


def prepare(rows: int, *, is_batch: bool) -> Any:
    """A job whose rows are all durable, at the beginning of its finalization."""
    from django.utils.timezone import now

    from anex.core.actors import system
    from billing import price_cards
    from billing.services import holds
    from jobs.models import Batch, Chunk
    from tests.factories import make_job

    card = price_cards.current("scripted")
    assert card
    fields = {"model_id": "scripted", "status": "finalizing", "row_count": rows, "prices": card.frozen()}
    job = make_job(organization(), approved_at=now(), quote_cents=100_000, **fields)
    if is_batch:
        Batch.objects.create(job=job, endpoint="/v1/chat/completions")
    source, amount = f"job:{job.pk}", 100_000 * 10_000_000
    holds.place(organization_id=job.organization_id, source=source, amount_nano=amount, actor=system("bench"))
    chunks = [
        Chunk(
            job=job,
            kind="rows",
            index=index,
            first_row=first,
            row_count=min(CHUNK, rows - first),
            done="1" * min(CHUNK, rows - first),
            closed=True,
        )
        for index, first in enumerate(range(0, rows, CHUNK))
    ]
    Chunk.objects.bulk_create(chunks, batch_size=1000)
    write_parts(job, chunks)
    Chunk.objects.create(job=job, kind="finalize", index=0)
    return job


def organization() -> Any:
    """The one that has enough credits."""
    from accounts.models import Organization
    from tests.factories import grant_credits, make_organization

    if found := Organization.objects.first():
        return found
    made = make_organization()
    grant_credits(made, 100_000_000)
    return made


def write_parts(job: Any, chunks: list[Any]) -> None:
    """Objects are written without waiting for the disk: that is not what is measured."""
    from jobs import storage
    from jobs.models import Part
    from jobs.storage import keys

    root, dice, nothing = storage.local_store()._objects, random.Random(0), {"truncated_rows": 0, "cached_tokens": 0}
    (root / keys.job_prefix(job.pk) / "parts").mkdir(parents=True)
    for batch in _batches(chunks, 100):
        made = []
        for chunk in batch:
            places = list(range(chunk.row_count))
            dice.shuffle(places)
            for start in range(0, chunk.row_count, PART):
                rows = places[start : start + PART]
                key = keys.part(job.pk, chunk.pk)
                size = (root / key).write_bytes(
                    b"".join(b"%d\t%b\n" % (row, line(chunk.first_row + row)) for row in rows)
                )
                counts = {"success_rows": len(rows), "error_rows": 0, "format_error_rows": 0, **nothing}
                tokens = {"input_tokens": len(rows), "output_tokens": len(rows), "cost_nano": len(rows) * COST_NANO}
                made.append(Part(chunk=chunk, key=key, size_bytes=size, **counts, **tokens))
        Part.objects.bulk_create(made, batch_size=1000)


def _batches(chunks: list[Any], size: int) -> Iterator[list[Any]]:
    for first in range(0, len(chunks), size):
        yield chunks[first : first + size]


def finalize() -> None:
    """In a process of its own: claim the one finalization there is, and do it. Prints what it took."""
    import django

    django.setup()
    from jobs.run.control import run_control
    from tests.jobs.run.driver import HandLease, claim_one

    claim = claim_one(HandLease(), "finalize")
    assert claim
    before, began = os.times(), time.perf_counter()
    run_control(claim)
    seconds, after = time.perf_counter() - began, os.times()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, after.user + after.system - before.user - before.system, memory]))


def check(job: Any) -> Path:
    """Every line is there and in order, the charge is exact; the file."""
    from jobs import storage

    job.refresh_from_db()
    assert (job.status, job.success_rows) == ("done", job.row_count)
    assert job.charge_cents == max(1, -(-job.row_count * COST_NANO // 10_000_000)), job.charge_cents
    path: Path = storage.local_store()._objects / job.result_key
    with path.open("rb") as file:
        count = 0
        for text in file:
            assert b'"row-%d"' % count in text[:120], text[:120]
            count += 1
    assert count == job.row_count
    return path


def copy(path: Path) -> float:
    """Seconds that the same bytes take to be read and written again, on the disk."""
    began = time.perf_counter()
    with path.open("rb") as source, path.with_suffix(".copy").open("wb") as target:
        while block := source.read(1 << 20):
            target.write(block)
        target.flush()
        os.fsync(target.fileno())
    return time.perf_counter() - began


def measure(rows: int, *, is_batch: bool) -> Found:
    """A job of this size, from preparation to the last check; its objects are deleted."""
    from jobs import storage
    from jobs.storage import keys

    job = prepare(rows, is_batch=is_batch)
    command = [sys.executable, "-m", "tests.bench.finalize", "--finalize"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    seconds, cpu, memory = json.loads(done.stdout.splitlines()[-1])
    path = check(job)
    found = Found(rows, seconds, cpu, memory, path.stat().st_size / 1e6, copy(path))
    path.with_suffix(".copy").unlink()
    store = storage.local_store()
    store.delete(stored.key for stored in list(store.list(keys.job_prefix(job.pk))))
    return found


def judge(name: str, found: list[Found]) -> list[Verdict]:
    """How the sizes compare."""
    first, last = found[0], found[-1]
    grown = (last.cpu / last.rows) / (first.cpu / first.rows)
    return [
        Verdict(f"{name}: CPU per row, last size by first", grown, 1.2),
        Verdict(f"{name}: memory of the largest", last.memory_mb, TARGET_MB, unit="MB"),
        Verdict(f"{name}: memory, last size more than first", last.memory_mb - first.memory_mb, 100, unit="MB"),
    ]


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(prog="make bench-finalize", usage='make bench-finalize ARGS="…"')
    parser.add_argument("--sizes", default="100000,1000000", help="rows of the jobs (default: 100000,1000000)")
    parser.add_argument("--finalize", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.finalize:
        finalize()
        return 0
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="anex-finalize-", dir="/var/tmp") as folder, own_database():
        os.environ["ANEX_STORAGE_DIR"] = folder
        from django.conf import settings
        from django.core.management import call_command

        settings.ANEX_STORAGE_DIR = Path(folder)
        call_command("migrate", verbosity=0)
        for name, is_batch in (("job", False), ("batch", True)):
            found = []
            for size in map(int, chosen.sizes.split(",")):
                found.append(measure(size, is_batch=is_batch))
                print(f"{name}, {found[-1]}", flush=True)
            verdicts += judge(name, found)
    print("\n".join(map(str, verdicts)))
    return int(any(verdict.missed for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
