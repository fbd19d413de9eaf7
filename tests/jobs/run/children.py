"""The processes that a check has started, and a store that they can be given."""

import os
from pathlib import Path

from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore


def children_of_this_process() -> list[int]:
    """Checking children of any thread of this process."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    found = [int(child) for task in tasks for child in task.read_text().split()]
    return [child for child in found if b"jobs.run.check_child" in Path(f"/proc/{child}/cmdline").read_bytes()]


def is_alive(process_id: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class AwayFrom(LocalStore):
    """A store that is away from the middle of its objects on."""

    def read_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """See Store."""
        if start > 50_000:
            raise StoreUnavailable("The store is away.")
        return super().read_range(key, start, end, etag=etag)
