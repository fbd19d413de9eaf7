"""Draws rows of an input at random, every choice equally likely; the same rows for the same seed. Pure.

Each row is given a random mark, and the rows with the smallest marks are drawn: so rows can be shown many at a time.
"""

import numpy as np

from jobs.run.checking import Integers


class Sampler:
    """Keeps `size` of the rows it is shown, in their order."""

    def __init__(self, size: int, *, seed: int) -> None:
        self._size = size
        self._seen = 0
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._marks = np.empty(0)
        self._rows = np.empty((0, 3), np.int64)

    def add(self, starts: Integers, ends: Integers) -> None:
        """Show it the next rows, by their bytes [start, end)."""
        marks = self._random.random(len(starts))
        near = np.argpartition(marks, self._size)[: self._size] if len(marks) > self._size else np.arange(len(marks))
        rows = np.stack((near + self._seen, starts[near], ends[near]), axis=1)
        self._seen += len(starts)
        self._marks, self._rows = np.concatenate((self._marks, marks[near])), np.concatenate((self._rows, rows))
        kept = np.sort(np.argsort(self._marks)[: self._size])
        self._marks, self._rows = self._marks[kept], self._rows[kept]

    @property
    def rows(self) -> list[tuple[int, int, int]]:
        """What was drawn: place among the rows, start and end of each."""
        return sorted((row, start, end) for row, start, end in self._rows.tolist())
