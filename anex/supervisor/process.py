"""Starting a server as a foreground child, and the error that stops a start."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anex.core.process import die_with_parent


class StartError(RuntimeError):
    """Something could not be prepared or started; the message is a sentence that says what to do."""


def start_server(
    name: str,
    command: list[str],
    *,
    log: Path,
    ready: Callable[[int], bool],
    timeout: float,
    death_signal: signal.Signals,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """A server that is ready (asked with its process id) and dies with this process; raises StartError."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=die_with_parent(death_signal),
            **options,
        )
    deadline = time.monotonic() + timeout
    while not ready(process.pid):
        if process.poll() is not None:
            raise StartError(f"{name} exited at start; see {log}.")
        if time.monotonic() > deadline:
            raise StartError(f"{name} did not become ready in {timeout:.0f} s.")
        time.sleep(0.02)
    return process
