"""A store of one object in memory, read in blocks of any size; as much of a store as a check needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inference.catalogue import get
from inference.requests.options import RowOptions
from inference.requests.profiles import NATIVE
from jobs.run.scope import Scope


@dataclass
class MemoryStore:
    """`reads` counts range reads of the object."""

    data: bytes
    block_bytes: int = 7
    reads: int = 0

    def stream(self, key: str, *, etag: str | None = None, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """See Store."""
        stop = len(self.data) if end is None else min(end, len(self.data))
        for place in range(start, stop, self.block_bytes):
            yield self.data[place : min(place + self.block_bytes, stop)]

    def read_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """See Store."""
        self.reads += 1
        return self.data[start:end]


def scope_of(data: bytes, *, block_bytes: int = 7, max_line_bytes: int = 210_000_000) -> Scope:
    """A scope of the scripted model over bytes in memory."""
    model = get("scripted")
    assert model is not None
    store = MemoryStore(data, block_bytes)
    options = RowOptions(max_output_tokens=16, profile=replace(NATIVE, max_line_bytes=max_line_bytes))
    return Scope(store, "k", "e", len(data), model, options)  # type: ignore[arg-type]
