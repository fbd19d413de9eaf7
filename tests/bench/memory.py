"""`make bench-memory`: a 200 MB file of 1,000,000 rows from upload to result on the scripted engine.

Prints the largest resident memory of every process beside the target and exits 1 when one passes it, or when the
result or the charge is not exact. `ROWS=10000` in the environment makes a short run.
"""

import http.client
import itertools
import json
import os
import secrets
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from tests.stack import Stack

TARGET_MB = 600
ROWS = int(os.environ.get("ROWS", "1000000"))
ROW_BYTES = 200
CAP = 8


def write_rows(path: Path) -> None:
    """One chat row a line, each ROW_BYTES long."""
    with path.open("w") as file:
        for row in range(ROWS):
            content = f"row {row} "
            line = {"custom_id": f"row-{row:07d}", "method": "POST", "url": "/v1/chat/completions"}
            line["body"] = {"messages": [{"role": "user", "content": content}]}  # type: ignore[assignment]
            room = ROW_BYTES - 1 - len(json.dumps(line))
            line["body"]["messages"][0]["content"] = (content + "word " * 40)[: len(content) + room]  # type: ignore[index]
            file.write(json.dumps(line) + "\n")


class Watch(threading.Thread):
    """Samples the resident memory of processes and their children, in megabytes: the most of each by its id, and the
    largest of each family by its name."""

    def __init__(self, pids: dict[str, int]) -> None:
        super().__init__(daemon=True)
        self.pids = pids
        self.peaks: dict[str, float] = dict.fromkeys(pids, 0.0)
        self.by_process: dict[int, float] = {}
        self.stopped = False

    def run(self) -> None:
        while not self.stopped:
            for name, pid in self.pids.items():
                for process in family(pid):
                    used = resident_mb(process)
                    self.peaks[name] = max(self.peaks[name], used)
                    self.by_process[process] = max(self.by_process.get(process, 0.0), used)
            time.sleep(0.1)


def family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        children = [child for thread in threads for child in thread.read_text().split()]
    except OSError:
        return
    for child in children:
        yield from family(int(child))


def resident_mb(pid: int) -> float:
    """Resident memory of a process, without the pages it shares with others."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    fields = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return (int(fields.get("RssAnon", 0)) + int(fields.get("RssFile", 0))) / 1024


def upload(target: dict[str, object], path: Path) -> None:
    """The presigned form POST, streamed from disk."""
    boundary = secrets.token_hex(16)
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in target["fields"].items()  # type: ignore[attr-defined]
    )
    head += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
    tail = f"\r\n--{boundary}--\r\n"
    url = urllib.parse.urlsplit(str(target["upload_url"]))
    connection = http.client.HTTPConnection(url.netloc, timeout=600)
    connection.putrequest("POST", url.path)
    connection.putheader("Content-Type", f"multipart/form-data; boundary={boundary}")
    connection.putheader("Content-Length", str(len(head) + path.stat().st_size + len(tail)))
    connection.endheaders()
    connection.send(head.encode())
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            connection.send(block)
    connection.send(tail.encode())
    answer = connection.getresponse()
    assert answer.status == 204, (answer.status, answer.read())


def count_result(url: str) -> tuple[int, int]:
    """Lines of the result and how many of them are in input order."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=600)
    connection.request("GET", f"{parts.path}?{parts.query}")
    lines = ordered = 0
    for line in connection.getresponse():
        ordered += json.loads(line)["custom_id"] == f"row-{lines:07d}"
        lines += 1
    return lines, ordered


def main() -> int:
    """Run once; 0 when every figure holds."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Stack(Path(folder)) as stack:
        path = Path(folder) / "rows.jsonl"
        write_rows(path)
        print(f"{ROWS:,} rows, {path.stat().st_size / 1e6:.0f} MB")
        watch = Watch(stack.pids())
        watch.start()
        times = {"start": time.monotonic()}
        created = stack.api("POST", "/inputs", {"format": "jsonl"})
        upload(created, path)
        times["uploaded"] = time.monotonic()
        job = stack.api("POST", "/jobs", {"input_id": created["id"], "model": "scripted", "max_output_tokens": CAP})
        stack.wait_for(job["id"], "cost_ready", seconds=1800)
        times["priced"] = time.monotonic()
        stack.api("POST", f"/jobs/{job['id']}/approve")
        final = stack.wait_for(job["id"], "done", seconds=5400, show=True)
        times["done"] = time.monotonic()
        lines, ordered = count_result(stack.api("GET", f"/jobs/{job['id']}/result")["result_url"])
        peaks = dict(watch.peaks)
    steps = list(times.items())
    for (_, before), (name, after) in itertools.pairwise(steps):
        print(f"{name:10s} {after - before:8.1f} s  {ROWS / (after - before):10,.0f} rows/s")
    failed = lines != ROWS or ordered != ROWS or final["charge_cents"] > final["est_cost_cents"]
    print(f"result: {lines:,} lines, {ordered:,} in order")
    print(f"charge: {final['charge_cents']} of {final['est_cost_cents']} cents")
    for name, peak in sorted(peaks.items()):
        failed = failed or peak > TARGET_MB
        print(f"{name:10s} {peak:7.0f} MB at most (target {TARGET_MB}) {'MISSED' if peak > TARGET_MB else 'ok'}")
    print(f"whole run {time.monotonic() - started:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
