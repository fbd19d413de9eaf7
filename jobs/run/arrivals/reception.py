"""Takes a file in: stores it and has it checked, piece by piece. Blocks, so it is called from threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from inference.requests.profiles import OPENAI
from jobs.run.arrivals.checker import Checker
from jobs.run.arrivals.lines import Limits
from jobs.run.scope import MAX_ROWS
from jobs.storage.interface import Store, Writer

LIMITS: Final = Limits(OPENAI.max_line_bytes, MAX_ROWS)


@dataclass(frozen=True, slots=True)
class Reception:
    """Where the pieces of one file go."""

    checker: Checker
    writer: Writer

    def take(self, piece: bytes) -> None:
        """The next piece. Raises BadLine, CheckerLost, StoreUnavailable."""
        self.checker.feed(piece)
        self.writer.write(piece)


@contextmanager
def reception(store: Store, key: str) -> Iterator[Reception]:
    """The object appears when the block is left without an exception, and not at all otherwise."""
    with Checker(LIMITS) as checker, store.writer(key) as writer:
        yield Reception(checker, writer)
