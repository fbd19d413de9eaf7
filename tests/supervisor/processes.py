"""Processes as the tests see them: a stand-in child, and waiting for the end of somebody else's process."""

import contextlib
import os
import select
import sys
import time
from pathlib import Path

# Says in the journal when it starts and when it is told to stop; `stubborn` does not stop for that.
STAND_IN = """
import os, signal, sys
name, journal, manner = sys.argv[1:]
def say(what):
    with open(journal, "a") as file: file.write(f"{what} {name} {os.getpid()}\\n")
def stop(*_):
    say("stopped")
    if manner != "stubborn": sys.exit(0)
signal.signal(signal.SIGTERM, stop)
if manner == "parent" and os.fork() == 0:
    say("started"); signal.pause()
say("started")
if manner == "dies": sys.exit(3)
while True: signal.pause()
"""


def stand_in(name: str, journal: Path, manner: str = "") -> list[str]:
    """The command line of a stand-in child."""
    return [sys.executable, "-c", STAND_IN, name, str(journal), manner]


def entries(journal: Path, what: str) -> list[tuple[str, int]]:
    """(name, process id) of every journal line that says this."""
    lines = [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []
    return [(name, int(pid)) for said, name, pid in lines if said == what]


def wait_until_gone(*pids: int, timeout: float = 30.0) -> None:
    """Return when all these processes have ended; fails when one has not in time."""
    deadline = time.monotonic() + timeout
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                gone, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            finally:
                os.close(handle)
            assert gone, f"process {pid} is still there: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}"
