"""How a child process is started so that it never outlives its parent."""

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1


def die_with_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn`: the child receives `death_signal` when the thread that started it ends (Linux only)."""
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def before_exec() -> None:
        if sys.platform != "linux":
            return
        libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


@contextmanager
def locked(lock: int) -> Iterator[None]:
    """Have the lock of an open file, by its descriptor; one process has it at a time, and loses it with its life."""
    fcntl.lockf(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.lockf(lock, fcntl.LOCK_UN)
