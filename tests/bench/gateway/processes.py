"""What processes use, with all their children: processor time and memory, as Linux counts them."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from anex.core.process import die_with_parent
from anex.supervisor.valkey import accepts
from tests.bench.gateway.programs import Missing

_TICKS = os.sysconf("SC_CLK_TCK")
_PSS = re.compile(r"^Pss:\s+(\d+)", re.MULTILINE)


def start(
    command: list[str], *, log: Path, port: int, seconds: float, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A server that listens and dies with this process; raises Missing where it does not come up."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=None if environment is None else {**os.environ, **environment},
            preexec_fn=die_with_parent(signal.SIGKILL),
        )
    deadline = time.monotonic() + seconds
    while not accepts(port):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise Missing(f"{Path(command[0]).name} does not start; see {log}.")
        time.sleep(0.1)
    return process


def cpu_seconds(roots: Iterable[int]) -> float:
    """Processor time of processes and all that came of them, those that have ended included."""
    ticks = 0
    for fields in _family(roots).values():
        ticks += sum(int(fields[place]) for place in (11, 12, 13, 14))
    return ticks / _TICKS


def pss_mib(roots: Iterable[int]) -> float:
    """Memory; what processes share is split among them."""
    kib = 0
    for pid in _family(roots):
        try:
            found = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text())
        except OSError:
            continue
        kib += int(found[1]) if found else 0
    return kib / 1024


def _family(roots: Iterable[int]) -> dict[int, list[str]]:
    """The fields of /proc/PID/stat after the name, by process."""
    everybody: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            everybody[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
    family = set(roots) & everybody.keys()
    while more := {pid for pid, fields in everybody.items() if int(fields[1]) in family} - family:
        family |= more
    return {pid: everybody[pid] for pid in family}
