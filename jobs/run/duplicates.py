"""Finds custom_ids that are used twice: exactly, though of ten million ids only hashes are kept.

Rows whose hash occurred before are read again with the first row of that hash, and their ids compared.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter

from inference.refusals import quoted, shortened
from inference.requests import rows as requests
from jobs.run.cutting import Cut
from jobs.run.hashes import repeats
from jobs.run.lines import Line, read_lines
from jobs.run.problems import MAX_PROBLEMS, Problem
from jobs.run.scope import Scope


def find_duplicates(
    scope: Scope, id_hashes: "array[int]", cuts: Sequence[Cut], *, pulse: Callable[[], None]
) -> list[Problem]:
    """The first hundred rows whose custom_id an earlier row has; `id_hashes` are those of all rows, in order.

    Rows that cannot be parsed have no custom_id.
    """
    rows = _Rows(scope, cuts)
    seen: dict[int, dict[str, int]] = {}  # by hash, the ids of its rows so far and their lines
    problems: list[Problem] = []
    for row, first in repeats(id_hashes):
        pulse()
        ids = seen.setdefault(first, {})
        for again in (row,) if ids else (first, row):
            line, custom_id = rows.read(again)
            if custom_id is None:
                continue
            if (earlier := ids.setdefault(custom_id, line)) != line:
                message = f"custom_id {quoted(custom_id)} was already used on line {earlier}."
                problems.append(Problem("duplicate_custom_id", line, message, "custom_id", shortened(custom_id)))
        if len(problems) == MAX_PROBLEMS:
            break
    return problems


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
