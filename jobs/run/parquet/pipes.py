"""How the child and its parent talk: each frame of the child is a head and, but for `MORE`, as many bytes.

`DATA` is a piece of the file that is being made, `MORE` asks for the next rows and is answered by a block, `DONE` is
the answer, as JSON. A block is its length and its bytes; an empty one says that there are no more rows.
"""

import io
import struct
import sys
from collections.abc import Iterator

HEAD = struct.Struct(">cI")
BLOCK = struct.Struct(">I")
DATA, MORE, DONE = b"D", b"M", b"E"
PIECE_BYTES = 1 << 20


class Sink(io.RawIOBase):
    """The file that is being made, as the child writes it; `size` in bytes so far."""

    def __init__(self) -> None:
        self.size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        """Pass the bytes on, in pieces."""
        view = memoryview(data).cast("B")
        for place in range(0, len(view), PIECE_BYTES):
            send(DATA, view[place : place + PIECE_BYTES])
        self.size += len(view)
        return len(view)


def send(kind: bytes, data: "bytes | memoryview" = b"") -> None:
    """Send a frame to the parent."""
    sys.stdout.buffer.write(HEAD.pack(kind, len(data)))
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def receive() -> bytes:
    """The next block of the parent; the child ends where the parent is gone."""
    head = sys.stdin.buffer.read(BLOCK.size)
    size = BLOCK.unpack(head)[0] if len(head) == BLOCK.size else -1
    block = sys.stdin.buffer.read(max(size, 0))
    if len(block) != size:
        sys.exit(1)
    return block


def entries() -> Iterator[tuple[int, bytes]]:
    """The rows that are wanted, counted from 0 and in order, each with its result line (empty where there is none)."""
    while True:
        send(MORE)
        if not (block := receive()):
            return
        for entry in block.split(b"\n")[:-1]:
            row, _, line = entry.partition(b"\t")
            yield int(row), line
