"""One job from upload to result, and what it took between its approval and its end."""

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from tests.bench.gateway.processes import cpu_seconds
from tests.bench.memory import upload
from tests.stack import ROOT, Stack

ANSWER_TOKENS: Final = 64
CHATS: Final = {"model": "fake", "max_output_tokens": ANSWER_TOKENS}
EMBEDDINGS: Final = {"model": "fake-narrow"}
# When a backend of the database that is idle tells what it wrote, at the latest.
IDLE_FLUSH_S: Final = 11
_SENTENCE: Final = "Summarise the following support ticket in one sentence. The customer reports that exports fail. "
_WRITTEN: Final = "SELECT sum(n_tup_ins), sum(n_tup_upd) FROM pg_stat_user_tables"
_OUTCOME: Final = """
SELECT extract(epoch FROM j.finished_at - j.approved_at), extract(epoch FROM j.finished_at - p.last_at),
       j.success_rows, j.charge_cents, c.chunks, p.parts, j.result_bytes
FROM jobs_job j,
     LATERAL (SELECT count(*) AS chunks FROM jobs_chunk WHERE job_id = j.id AND kind = 'rows') c,
     LATERAL (SELECT count(*) AS parts, max(t.created_at) AS last_at
              FROM jobs_part t JOIN jobs_chunk r ON r.id = t.chunk_id WHERE r.job_id = j.id) p
WHERE j.id = %s
"""


@dataclass(frozen=True)
class Run:
    """What a pass over a file took: seconds, and processor seconds by process."""

    rows: int
    seconds: float
    cpu: Mapping[str, float]
    finalizing: float = 0.0
    chunks: int = 0
    parts: int = 0
    written: int = 0
    result_bytes: int = 0

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds

    def cpu_per_row(self, *names: str) -> float:
        """Microseconds of the processes whose names begin so; of all where none is given."""
        return sum(cpu for name, cpu in self.cpu.items() if name.startswith(names or ("",))) * 1e6 / self.rows


def write_rows(path: Path, rows: int) -> Path:
    """A file of chat rows, a system prompt of about 200 bytes and a question in each."""
    tag = secrets.token_hex(4)
    with path.open("w") as file:
        for row in range(rows):
            question = f"{row} {_SENTENCE * 2}"
            messages = [{"role": "system", "content": _SENTENCE * 2}, {"role": "user", "content": question}]
            # A native job's cap is its own; the bare loop needs one in the row.
            body = {"messages": messages, "max_tokens": ANSWER_TOKENS}
            line = {"custom_id": f"{tag}-{row}", "method": "POST", "url": "/v1/chat/completions", "body": body}
            file.write(json.dumps(line) + "\n")
    return path


def write_texts(path: Path, rows: int) -> Path:
    """A file of embedding rows of about 100 bytes: ten million of them are as large as a file may be."""
    with path.open("w") as file:
        for row in range(rows):
            body = f'{{"input":"export {row} fails"}}'
            file.write(f'{{"custom_id":"{row}","method":"POST","url":"/v1/embeddings","body":{body}}}\n')
    return path


def run_floor(path: Path, upstream: int, concurrency: int) -> Run:
    """The bare loop over a file."""
    url = f"http://127.0.0.1:{upstream}/v1/chat/completions"
    command = [sys.executable, "-m", "tests.bench.batch.floor", str(path), url, str(concurrency)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=3600)
    found = json.loads(done.stdout)
    return Run(found["rows"], found["seconds"], {"floor": found["cpu"]})


def run_job(
    stack: Stack, path: Path, rows: int, order: Mapping[str, object] = CHATS, *, counts_writes: bool = False
) -> Run:
    """The whole pipeline over a file, from approval to end; `counts_writes` waits until all of them are told."""
    created = stack.api("POST", "/inputs", {"format": "jsonl"})
    upload(created, path)
    job_id = stack.api("POST", "/jobs", {"input_id": created["id"], **order})["id"]
    stack.wait_for(job_id, "cost_ready", seconds=600 + rows / 2000)
    pids = {name: pid for name, pid in stack.pids().items() if name != "engine"}
    with psycopg.connect(stack.postgres.url(), autocommit=True) as connection:
        before, written = _cpu(pids), _written(connection)
        stack.api("POST", f"/jobs/{job_id}/approve")
        _wait(connection, job_id, seconds=60 + rows / 100)
        used = {name: cpu - before[name] for name, cpu in _cpu(pids).items()}
        time.sleep(IDLE_FLUSH_S if counts_writes else 0)
        written = _written(connection) - written
        answer = connection.execute(_OUTCOME, [job_id]).fetchone()
    assert answer
    seconds, finalizing, good, charge, chunks, parts, size = answer
    assert good == rows, f"{good} of {rows} rows have an answer"
    assert charge > 0
    return Run(rows, float(seconds), used, float(finalizing), chunks, parts, written, size)


def _cpu(pids: Mapping[str, int]) -> dict[str, float]:
    return {name: cpu_seconds([pid]) for name, pid in pids.items()}


def _written(connection: psycopg.Connection) -> int:
    connection.execute("SELECT pg_stat_clear_snapshot()")
    row = connection.execute(_WRITTEN).fetchone()
    assert row
    return int(sum(row))


def _wait(connection: psycopg.Connection, job_id: str, *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        row = connection.execute("SELECT status FROM jobs_job WHERE id = %s", [job_id]).fetchone()
        assert row
        if row[0] == "done":
            return
        assert row[0] in ("in_progress", "finalizing"), row
        assert time.monotonic() < deadline, row
        time.sleep(0.2)
