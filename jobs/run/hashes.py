"""Finds which of many hashes occurred before, in a few bytes for each."""

from array import array
from collections.abc import Iterator

import numpy as np

_TOGETHER = 1_000_000


def repeats(hashes_of_rows: "array[int]") -> Iterator[tuple[int, int]]:
    """Rows whose hash occurred before, in order, each with the first row that has it; rows count from 0."""
    hashes = np.frombuffer(hashes_of_rows, np.int64)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(repeated):
        return
    firsts = np.full(len(repeated), -1, np.int64)
    for begin in range(0, len(hashes), _TOGETHER):
        some = hashes[begin : begin + _TOGETHER]
        found = np.minimum(np.searchsorted(repeated, some), len(repeated) - 1)
        rows = np.flatnonzero(repeated[found] == some)
        which, place = np.unique(found[rows], return_index=True)
        new = firsts[which] < 0
        firsts[which[new]] = begin + rows[place[new]]
        first = firsts[found[rows]]
        again = first != begin + rows
        yield from zip((begin + rows[again]).tolist(), first[again].tolist(), strict=True)
