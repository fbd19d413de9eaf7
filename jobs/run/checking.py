"""Checks the lines of a span of an input: parses them, counts them in batches, and adds up what was found.

Pure but for the store and, for models that count so, their server; several processes do this side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from anex.core.usage import Usage
from inference import tokens
from inference.media.probe import Patience
from inference.refusals import shortened
from inference.requests import rows as requests
from inference.requests import typed
from jobs.run.fitting import misfit, own_cap, taken
from jobs.run.lines import Block, read_span
from jobs.run.problems import MAX_PROBLEMS, Problem
from jobs.run.scope import Scope, Span

COUNTED_TOGETHER = 512
COUNTED_BYTES = 4 * 1024 * 1024  # or less than that many rows: counting takes many times their size

Integers = npt.NDArray[np.int64]
Count = Usage | requests.RowError
NOTHING: Integers = np.empty(0, np.int64)


@dataclass(slots=True)
class Found:
    """What the lines of a span came to.

    Lines are numbered from 1 at the span's first; `numbers`, `starts` and `ends` tell for each row which line it is and
    which bytes of the file, and `id_hashes` holds the hash of its custom_id or, where it could not be parsed, a number
    that no other row has. `largest_cap` is the largest output cap that a row keeps for itself, `media` what the
    `media_rows` send together, text and media. A span with 100 problems is not read further.
    """

    lines: int = 0
    numbers: Integers = field(default_factory=lambda: NOTHING)
    starts: Integers = field(default_factory=lambda: NOTHING)
    ends: Integers = field(default_factory=lambda: NOTHING)
    id_hashes: Integers = field(default_factory=lambda: NOTHING)
    problems: list[Problem] = field(default_factory=list)
    input_tokens: int = 0
    longest_row_tokens: int = 0
    largest_cap: int = 0
    media_rows: int = 0
    media: Usage = field(default_factory=Usage)


def check_span(
    scope: Scope,
    span: Span,
    *,
    pulse: Callable[[], None] = lambda: None,
    alone: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Found:
    """Check the lines that belong to a span; `pulse` is called often and may raise, `alone` is held while a line of
    more than 32 MiB is in memory.

    Raises Unavailable, ObjectChanged, ObjectMissing.
    """
    checker = _Checker(scope, pulse)
    for block in read_span(scope, span):
        pulse()
        if block.text is not None:
            checker.add(block.text, block)
        elif block.size > scope.max_line_bytes:
            checker.refuse(block)
        else:
            with alone():
                end = block.start + block.size
                checker.add(scope.store.read_range(scope.key, block.start, end, etag=scope.etag), block)
        if len(checker.found.problems) >= MAX_PROBLEMS:
            break
    return checker.finish()


class _Checker:
    """Takes the lines of a span in order, some whole lines at a time."""

    def __init__(self, scope: Scope, pulse: Callable[[], None]) -> None:
        self.found = Found()
        self._scope = scope
        self._pulse = pulse
        self._read = typed.reader(scope.model, scope.options)
        self._patience = Patience()
        self._places: list[tuple[Integers, ...]] = []
        self._hashes: list[Integers] = []
        self._most_tokens = scope.model.context_tokens - (scope.options.max_output_tokens or 1)

    def add(self, text: bytes, block: Block) -> None:
        """Check the lines of a block."""
        texts = text.split(b"\n")
        sizes = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        ends = block.start + np.cumsum(sizes)
        places = [np.arange(self.found.lines + 1, self.found.lines + 1 + len(texts)), ends - sizes, ends]
        ends[-1] = block.end
        if b"\r" in text:
            texts = [line.removesuffix(b"\r") for line in texts]
        blank: list[int] = []
        for batch in _batches(sizes):
            self._pulse()
            blank += self._check(texts, batch, places[1])
            if len(self.found.problems) >= MAX_PROBLEMS:
                break
        self.found.lines += len(texts)
        self._places.append(tuple(np.delete(array, blank) if blank else array for array in places))

    def refuse(self, block: Block) -> None:
        """Note a line that is longer than a line may be."""
        self.found.lines += 1
        self._hashes.append(np.array([block.start]))
        self._places.append(tuple(np.array([value]) for value in (self.found.lines, block.start, block.end)))
        sentence = f"The line is longer than {_shown(self._scope.max_line_bytes)}."
        self.found.problems.append(Problem("line_too_long", self.found.lines, sentence))

    def finish(self) -> Found:
        """What all lines came to."""
        found = self.found
        if self._places:
            found.numbers, found.starts, found.ends = map(np.concatenate, zip(*self._places, strict=True))
        found.id_hashes = np.concatenate([NOTHING, *self._hashes])
        del found.problems[MAX_PROBLEMS:]
        return found

    def _check(self, texts: Sequence[bytes], batch: range, starts: Integers) -> list[int]:
        """Check some lines, each of which starts at its byte of the file; answers which of them are blank."""
        rows: list[requests.Row] = []
        without_row: dict[int, Problem | None] = {}
        read = self._read
        for place in batch:
            line = texts[place]
            try:
                rows.append(read(line))
            except requests.RowError as error:
                is_blank = not line or line.isspace()
                without_row[place] = None if is_blank else self._problem(place, error, requests.named_id(line))
        places = [place for place in batch if place not in without_row] if without_row else batch
        self._hash(rows, places, [place for place, problem in without_row.items() if problem], starts)
        problems = [problem for problem in without_row.values() if problem] + self._count(rows, places)
        self.found.problems += sorted(problems, key=lambda problem: problem.line)
        return [place for place, problem in without_row.items() if problem is None]

    def _hash(self, rows: list[requests.Row], places: Sequence[int], broken: list[int], starts: Integers) -> None:
        """Note the hashes of the rows of some lines, in the order of the lines; a broken one has where it starts."""
        hashes = np.fromiter(map(hash, [row.custom_id for row in rows]), np.int64, len(rows))
        if broken:
            order = np.argsort(np.array([*places, *broken]))
            hashes = np.concatenate((hashes, starts[broken]))[order]
        self._hashes.append(hashes)

    def _count(self, rows: list[requests.Row], places: Sequence[int]) -> list[Problem]:
        """Add up what rows send; answers what is wrong with them. `places` are those of their lines in the block."""
        if not rows:
            return []
        found, scope = self.found, self._scope
        counts = tokens.count_rows(
            scope.model,
            rows,
            options=scope.options,
            counting_server=scope.counting_server,
            patience=self._patience,
        )
        if not scope.options.profile.keeps_own_settings and _are_plain(counts):
            amounts = [count.input_tokens for count in counts]
            found.input_tokens += sum(amounts)
            found.longest_row_tokens = max(found.longest_row_tokens, *amounts)
            if found.longest_row_tokens <= self._most_tokens:
                return []
            return [problem for entry in zip(rows, places, counts, strict=True) if (problem := self._misfit(*entry))]
        return [problem for entry in zip(rows, places, counts, strict=True) if (problem := self._take(*entry))]

    def _take(self, row: requests.Row, place: int, count: Count) -> Problem | None:
        if isinstance(count, requests.RowError):
            return self._problem(place, count, row.custom_id)
        found = self.found
        found.input_tokens += count.input_tokens
        found.longest_row_tokens = max(found.longest_row_tokens, taken(self._scope, row, count))
        found.largest_cap = max(found.largest_cap, own_cap(self._scope, row, count))
        if count.has_media:
            found.media_rows += 1
            found.media += count
        return self._misfit(row, place, count)

    def _misfit(self, row: requests.Row, place: int, usage: Usage) -> Problem | None:
        error = misfit(self._scope, row, usage)
        return self._problem(place, error, row.custom_id) if error else None

    def _problem(self, place: int, error: requests.RowError, custom_id: str | None) -> Problem:
        name = shortened(custom_id) if custom_id else None
        return Problem(error.code, self.found.lines + place + 1, error.message, error.param, name)


def _batches(sizes: Integers) -> Iterator[range]:
    """Which lines are counted together, by their places."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        begun = ends[first] - sizes[first]
        full = int(np.searchsorted(ends, begun + COUNTED_BYTES)) + 1
        last = min(first + COUNTED_TOGETHER, full, len(sizes))
        yield range(first, last)
        first = last


def _are_plain(counts: Sequence[Count]) -> TypeGuard[Sequence[Usage]]:
    """Whether every row was counted and none carries media; written out, for this looks at every row of every file."""
    for count in counts:
        if type(count) is not Usage or count.images or count.clips or count.video_ms or count.audio_ms:
            return False
    return True


def _shown(size_bytes: int) -> str:
    return f"{size_bytes >> 20} MiB" if size_bytes % (1 << 20) == 0 else f"{size_bytes // 1_000_000} MB"
