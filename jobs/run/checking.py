"""Checks the lines of an input one after the other: parses them, counts them in batches, and adds up what was found."""

from array import array
from dataclasses import dataclass, field

from anex.core.usage import Usage
from inference import tokens
from inference.backends import registry
from inference.requests import rows as requests
from jobs.run.context import Context
from jobs.run.failures import Problem
from jobs.run.fitting import misfit
from jobs.run.lines import Line

MAX_ROWS = 10_000_000
MAX_PROBLEMS = 100
COUNTED_TOGETHER = 512
COUNTED_BYTES = 16 * 1024 * 1024  # or less than that many rows


class TooManyProblems(Exception):
    """Enough was found to say what is wrong."""


@dataclass(slots=True)
class Checked:
    """What the lines of a file came to; `media` is what the `media_rows` send together, text and media."""

    problems: list[Problem] = field(default_factory=list)
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    rows: int = 0
    input_tokens: int = 0
    longest_row_tokens: int = 0
    media_rows: int = 0
    media: Usage = field(default_factory=Usage)


class Checker:
    """Takes lines in order; `checked` is complete after `finish`. Both raise `TooManyProblems`."""

    def __init__(self, context: Context) -> None:
        self.checked = Checked()
        self._context = context
        self._batch: list[tuple[Line, requests.Row]] = []
        self._batch_bytes = 0

    def add(self, line: Line) -> None:
        """Parse a line, and count it soon."""
        if row := self._parse(line):
            self._batch.append((line, row))
            self._batch_bytes += line.end - line.start
        if len(self._batch) == COUNTED_TOGETHER or self._batch_bytes >= COUNTED_BYTES:
            self.finish()

    def finish(self) -> None:
        """Count what was parsed since the last batch."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        for (line, row), count in zip(batch, self._counts([row for _, row in batch]), strict=True):
            if isinstance(count, requests.RowError):
                self._note(Problem(count.code, line.number, count.message, count.param))
            else:
                self._take(line, row, count)

    def _parse(self, line: Line) -> requests.Row | None:
        self.checked.rows += 1
        if self.checked.rows > MAX_ROWS:
            self._note(Problem("too_many_rows", line.number, f"The input has more than {MAX_ROWS:,} rows."))
            raise TooManyProblems
        if line.text is None:
            self._note(Problem("line_too_long", line.number, "The line is longer than 32 MiB."))
            return None
        try:
            row = requests.parse(line.text, model=self._context.model, options=self._context.options)
        except requests.RowError as error:
            self._note(Problem(error.code, line.number, error.message, error.param))
            return None
        self.checked.id_hashes.append(hash(row.custom_id))
        return row

    def _counts(self, rows: list[requests.Row]) -> list[Usage | requests.RowError]:
        context = self._context
        servers = [server for server in registry.live(context.region) if server.model_id == context.model.id]
        return tokens.count_rows(
            context.model, rows, options=context.options, counting_server=servers[0] if servers else None
        )

    def _take(self, line: Line, row: requests.Row, usage: Usage) -> None:
        checked = self.checked
        checked.input_tokens += usage.input_tokens
        checked.longest_row_tokens = max(checked.longest_row_tokens, usage.input_tokens)
        if usage.has_media:
            checked.media_rows += 1
            checked.media += usage
        if sentence := misfit(self._context, row, usage):
            self._note(Problem("row_too_long", line.number, sentence, "messages"))

    def _note(self, problem: Problem) -> None:
        self.checked.problems.append(problem)
        if len(self.checked.problems) >= MAX_PROBLEMS:
            raise TooManyProblems
