"""The process that checks a file while it is uploaded (see `checker`). It has no database and no store.

Arguments: the longest line in bytes, the most rows, and the descriptor of the file that is locked while a long line is
in memory. It reads the file and answers lines of JSON: the target, once
it is known, then what is wrong or how many rows there are.
"""

import gc
import os
import resource
import sys
from functools import partial
from typing import Any, Final

import orjson

from anex.core.process import locked
from jobs.run.arrivals.lines import BadLine, Limits, Lines

MOST_MEMORY_BYTES: Final = 4 * 1024**3  # addresses; the longest line takes 3, and 1.4 of memory
PIECE_BYTES: Final = 256 * 1024


def main(line_bytes: int, rows: int, lock: int) -> None:
    """Check what comes in until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    # Rows live for a moment and hold no cycles.
    gc.disable()
    lines = Lines(Limits(line_bytes, rows), alone=partial(locked, lock))
    told = False
    try:
        while data := os.read(sys.stdin.fileno(), PIECE_BYTES):
            lines.feed(data)
            told = told or _tell_target(lines)
        rows = lines.finish()
    except BadLine as bad:
        _say(bad.as_dict())
        return
    if not told:
        _tell_target(lines)
    _say({"rows": rows})


def _tell_target(lines: Lines) -> bool:
    if lines.target:
        _say({"url": lines.target.url, "model": lines.target.model, "at": lines.target_line})
    return lines.target is not None


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
