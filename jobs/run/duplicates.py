"""Finds custom_ids that are used twice: exactly, though of ten million ids only hashes are kept.

Rows whose hash occurred before are read again with the first row of that hash, and their ids compared.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

import numpy as np

from inference.refusals import quoted
from inference.requests import rows as requests
from jobs.run.checking import Integers
from jobs.run.cutting import Cut
from jobs.run.lines import Line, read_lines
from jobs.run.problems import MAX_PROBLEMS, Problem
from jobs.run.scope import Scope

_TOGETHER = 1_000_000


def find_duplicates(
    scope: Scope, id_hashes: "array[int]", cuts: Sequence[Cut], *, pulse: Callable[[], None]
) -> list[Problem]:
    """The first hundred rows whose custom_id an earlier row has; `id_hashes` are those of all rows, in order.

    Rows that cannot be parsed have no custom_id.
    """
    hashes = np.frombuffer(id_hashes, np.int64)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    rows = _Rows(scope, cuts)
    seen: dict[int, dict[str, int]] = {}  # by hash, the ids of its rows so far and their lines
    problems: list[Problem] = []
    for row, first in _repeats(hashes, repeated):
        pulse()
        ids = seen.setdefault(first, {})
        for again in (row,) if ids else (first, row):
            line, custom_id = rows.read(again)
            if custom_id is None:
                continue
            if (earlier := ids.setdefault(custom_id, line)) != line:
                message = f"custom_id {quoted(custom_id)} was already used on line {earlier}."
                problems.append(Problem("duplicate_custom_id", line, message, "custom_id"))
        if len(problems) == MAX_PROBLEMS:
            break
    return problems


def _repeats(hashes: Integers, repeated: Integers) -> Iterator[tuple[int, int]]:
    """Rows whose hash occurred before, in order, each with the first row that has it."""
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


class _Rows:
    """Rows of an input by their place; the last chunk that was read is kept."""

    def __init__(self, scope: Scope, cuts: Sequence[Cut]) -> None:
        self._scope = scope
        self._cuts = cuts
        self._index = -1
        self._lines: list[Line] = []

    def read(self, row: int) -> tuple[int, str | None]:
        """The number of a row's line and its custom_id, None for one that cannot be parsed."""
        index = bisect_right(self._cuts, row, key=attrgetter("first_row")) - 1
        scope, cut = self._scope, self._cuts[index]
        if index != self._index:
            self._index, self._lines = index, []
            self._lines = list(read_lines(scope.store.read_range(scope.key, cut.start, cut.end, etag=scope.etag)))
        line = self._lines[row - cut.first_row]
        try:
            custom_id = requests.parse(line.text, model=scope.model, options=scope.options).custom_id
        except requests.RowError:
            custom_id = None
        return cut.line + line.number - 1, custom_id
