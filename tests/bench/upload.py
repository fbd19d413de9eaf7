"""`make bench-upload`: files of 1 GiB through `POST /v1/files` of a real server, checked line by line; beside targets.

Chunked, as openai-node sends them, onto the local disk with durable commits. Speed is bytes by processor time, which
neighbours change little: of the child that checks, and of all that the web process does with it. Memory is the most of
each; the file is downloaded too. Exits 1 where a target is missed. `SCALE=0.1` makes files of a tenth.
"""

import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.bench.memory import Watch, resident_mb
from tests.stack import Stack

SCALE = float(os.environ.get("SCALE", "1"))
GIB = 1024**3
CHECKED_MB_S, GROWTH_MB, CHILD_MB = 100.0, 60.0, 350.0
BOUNDARY = "a-boundary-of-the-bench"
KNOWN = 5_000
FILES = {
    "chat rows of 254 bytes": b'{"custom_id":"row-%08d","method":"POST","url":"/v1/chat/completions","body":{"model":'
    b'"scripted","messages":[{"role":"user","content":"' + b"river ledger " * 7 + b'"}],"max_tokens":200}}\n',
    "chat rows of 111 bytes": b'{"custom_id":"%07d","method":"POST","url":"/v1/chat/completions","body":{"model":'
    b'"scripted","messages":[]}}\n',
    "rows of 8 KB": b'{"custom_id":"row-%08d","method":"POST","url":"/v1/chat/completions","body":{"model":'
    b'"scripted","messages":[{"role":"user","content":"' + b"river ledger " * 620 + b'"}]}}\n',
}

failed = False


def say(name: str, value: float, target: float, unit: str, *, at_least: bool = False) -> None:
    """Print a figure beside its target."""
    global failed
    missed = value < target if at_least else value > target
    failed = failed or missed
    bound = "at least" if at_least else "at most"
    print(f"{name:52s} {value:8.1f} {unit:5s} ({bound} {target:g}) {'MISSED' if missed else 'ok'}", flush=True)


def busy_seconds(pid: int) -> tuple[float, float]:
    """Processor time of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, (int(fields[13]) + int(fields[14])) / ticks


def form(template: bytes, size: int) -> Iterator[bytes]:
    """A form whose file has about `size` bytes, and at most ten million rows."""
    yield f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'.encode()
    yield f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'.encode()
    rows = min(size // len(template % 0), 10_000_000)
    for start in range(0, rows, KNOWN):
        yield b"".join([template % row for row in range(start, min(start + KNOWN, rows))])
    yield f"\r\n--{BOUNDARY}--\r\n".encode()


def upload(stack: Stack, template: bytes, size: int) -> dict[str, Any]:
    """One upload; answers the file."""
    with closing(http.client.HTTPConnection("127.0.0.1", stack.web_port, timeout=1800)) as connection:
        headers = {
            "Authorization": f"Bearer {stack.secret}",
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        }
        connection.request("POST", "/v1/files", form(template, size), headers, encode_chunked=True)
        answer = connection.getresponse()
        told = json.loads(answer.read())
    assert answer.status == 200, told
    return dict(told)


def download(stack: Stack, file_id: str) -> int:
    """How many bytes of the file come back."""
    with closing(http.client.HTTPConnection("127.0.0.1", stack.web_port, timeout=1800)) as connection:
        connection.request("GET", f"/v1/files/{file_id}/content", headers={"Authorization": f"Bearer {stack.secret}"})
        answer = connection.getresponse()
        return sum(map(len, iter(lambda: answer.read(1 << 20), b"")))


def measure(stack: Stack, name: str, template: bytes, resting_mb: float) -> None:
    """One large upload."""
    web = stack.processes["web"].pid
    watch = Watch({"web": web})
    watch.start()
    began, started = busy_seconds(web), time.monotonic()
    file = upload(stack, template, int(GIB * SCALE))
    seconds, ended, mb = time.monotonic() - started, busy_seconds(web), file["bytes"] / 1e6
    assert download(stack, file["id"]) == file["bytes"]
    watch.stopped = True
    watch.join()
    mine, child = (after - before for before, after in zip(began, ended, strict=True))
    print(f"{name}: {mb:,.0f} MB in {seconds:.1f} s by the clock; processor: check {child:.1f} s, web {mine:.1f} s")
    say(f"{name}: checked, per core", mb / child, CHECKED_MB_S, "MB/s", at_least=True)
    print(f"{name + ': received, stored and checked, per core':52s} {mb / (child + mine):8.1f} MB/s")
    say(f"{name}: memory of the web process, down too", watch.by_process.pop(web) - resting_mb, GROWTH_MB, "MB")
    say(f"{name}: memory of the child", max(watch.by_process.values()), CHILD_MB, "MB")


def main() -> int:
    """Run once; 0 when every figure holds."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Stack(Path(folder), workers=0) as stack:
        for template in FILES.values():
            upload(stack, template, 100_000)
        resting_mb = resident_mb(stack.processes["web"].pid)
        for name, template in FILES.items():
            measure(stack, name, template, resting_mb)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
