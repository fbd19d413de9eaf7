"""Cuts a checked file into chunks, bounded by rows, input bytes and expected output bytes; pure."""

from dataclasses import dataclass

import numpy as np

from jobs.run.checking import NOTHING, Integers
from jobs.run.scope import Scope

CHUNK_ROWS = 2048
CHUNK_BYTES = 16 * 1024 * 1024
CHUNK_OUTPUT_BYTES = 64 * 1024 * 1024
# What a token, a number of a vector and an answered question take up in a result line, at most or nearly so.
BYTES_PER_TOKEN, BYTES_PER_NUMBER, BYTES_PER_DECISION = 8, 24, 1024


@dataclass(frozen=True, slots=True)
class Cut:
    """Neighbouring rows: the place of the first among all rows, how many, its line, and their bytes [start, end)."""

    first_row: int
    row_count: int
    line: int
    start: int
    end: int


class Cutter:
    """Takes the rows of an input in order, many at a time; where it cuts does not depend on how many."""

    def __init__(self, scope: Scope) -> None:
        self.cuts: list[Cut] = []
        self._max_rows = max(1, min(CHUNK_ROWS, CHUNK_OUTPUT_BYTES // _answer_bytes(scope)))
        self._first_row = 0
        self._numbers = self._starts = self._ends = NOTHING

    def add(self, numbers: Integers, starts: Integers, ends: Integers) -> None:
        """Take rows by the numbers of their lines and their bytes, and close every chunk that is full."""
        self._numbers = np.concatenate((self._numbers, numbers))
        self._starts = np.concatenate((self._starts, starts))
        self._ends = np.concatenate((self._ends, ends))
        done = 0
        while (after := self._end_of_chunk(done)) < len(self._ends):
            self._close(done, after)
            done = after
        self._numbers, self._starts, self._ends = self._numbers[done:], self._starts[done:], self._ends[done:]

    def cut(self) -> None:
        """Close the open chunk."""
        if len(self._ends):
            self._close(0, len(self._ends))
        self._numbers = self._starts = self._ends = NOTHING

    def _end_of_chunk(self, first: int) -> int:
        """The place behind a chunk's last row; that of the end while the chunk may grow."""
        if first == len(self._ends):
            return first
        fitting = int(np.searchsorted(self._ends, self._starts[first] + CHUNK_BYTES, side="right"))
        return min(first + self._max_rows, max(fitting, first + 1))

    def _close(self, first: int, after: int) -> None:
        rows = after - first
        line, start, end = int(self._numbers[first]), int(self._starts[first]), int(self._ends[after - 1])
        self.cuts.append(Cut(self._first_row, rows, line, start, end))
        self._first_row += rows


def _answer_bytes(scope: Scope) -> int:
    """A generous bound of what a row's answer takes up in its result line."""
    model = scope.model
    if model.embedding is not None:
        return (scope.options.dimensions or model.embedding.dimensions) * BYTES_PER_NUMBER
    if model.decisions is not None:
        return model.decisions.max_questions * BYTES_PER_DECISION
    return (scope.options.max_output_tokens or model.max_output_tokens or 1) * BYTES_PER_TOKEN
