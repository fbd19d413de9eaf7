"""`make bench-parquet`: a file of 1,000,000 rows and 22 columns in one row group, to lines and back to parquet.

Prints times, sizes and the largest resident memory of the child and of its parent beside its target; exits 1 when it is
passed or a row is missing. `ROWS=10000` in the environment makes a short run.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = int(os.environ.get("ROWS", "1000000"))
TARGET_MB = 400
os.environ.setdefault("REDIS_URL", "redis://unused")
os.environ.setdefault("DATABASE_URL", "postgres://unused@localhost/unused")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.test")


def make(path: str) -> None:
    """Write the file; in a process of its own, whose memory does not count."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = np.random.default_rng(0)
    columns: dict[str, object] = {
        "custom_id": [f"row-{row}" for row in range(ROWS)],
        "input": [f"Say {row} again, " + "word " * (row % 60) for row in range(ROWS)],
        **{f"float {column}": numbers.random(ROWS) for column in range(10)},
        **{f"label {column}": pa.array(numbers.integers(0, 50, ROWS)).cast(pa.string()) for column in range(10)},
    }
    pq.write_table(pa.table(columns), path, row_group_size=ROWS)


def answer(row: int) -> bytes:
    """A result line of a chat row."""
    choice = {"message": {"content": f"Again: {row}. " + "word " * 30}, "finish_reason": "stop"}
    body = {"choices": [choice], "usage": {"prompt_tokens": 40, "completion_tokens": 34}}
    line = {
        "custom_id": f"row-{row}",
        "response": {"status_code": 200, "body": body},
        "error": None,
        "error_type": None,
    }
    return json.dumps(line).encode() + b"\n"


def main() -> int:
    """Run once; 0 when every figure holds."""
    import django

    django.setup()
    from jobs.run.parquet import process
    from tests.bench.memory import Watch

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path, lines, result = (Path(folder, name) for name in ("rows.parquet", "rows.jsonl", "result.parquet"))
        code = f"from tests.bench.parquet import make; make({str(path)!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
        size = path.stat().st_size
        print(f"{ROWS:,} rows, {size / 1e6:.0f} MB")
        watch = Watch({"parquet": os.getpid()})
        watch.start()
        with path.open("rb") as file:
            began_at = time.monotonic()
            with lines.open("wb") as out:
                url = "/v1/chat/completions"
                process.convert(file, task="chat", url=url, size=size, write=out.write, go_on=lambda: True)
            show("convert", began_at, lines)
            began_at = time.monotonic()
            with result.open("wb") as out:
                answers = ((row, answer(row)) for row in range(ROWS))
                joined = process.join(file, answers, task="chat", write=out.write, go_on=lambda: True)
            show("join", began_at, result)
    peak = watch.peaks["parquet"]
    missed = peak > TARGET_MB or joined != ROWS
    print(f"each process {peak:.0f} MB at most (target {TARGET_MB}) {'MISSED' if missed else 'ok'}")
    return int(missed)


def show(step: str, began_at: float, path: Path) -> None:
    """One line about a step."""
    seconds = time.monotonic() - began_at
    print(f"{step:8s} {seconds:6.1f} s  {ROWS / seconds:9,.0f} rows/s  {path.stat().st_size / 1e6:6.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
