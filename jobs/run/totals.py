"""Adds up what the spans of an input came to; pure."""

from array import array
from dataclasses import dataclass, field, replace

from anex.core.usage import Usage
from jobs.run.checking import Found
from jobs.run.problems import MAX_PROBLEMS, Problem
from jobs.run.scope import MAX_ROWS


@dataclass(slots=True)
class Checked:
    """What a file came to so far, span by span; `media` is what the `media_rows` send together, text and media.

    Of each custom_id 8 bytes are kept, in one block that grows: pieces given back would stay with the process.
    """

    problems: list[Problem] = field(default_factory=list)
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    lines: int = 0
    rows: int = 0
    input_tokens: int = 0
    longest_row_tokens: int = 0
    largest_cap: int = 0
    media_rows: int = 0
    media: Usage = field(default_factory=Usage)

    def add(self, found: Found) -> None:
        """Take what the next span came to."""
        problems = [replace(problem, line=problem.line + self.lines) for problem in found.problems]
        if self.rows + len(found.numbers) > MAX_ROWS:
            line = self.lines + int(found.numbers[MAX_ROWS - self.rows])
            problems = [problem for problem in problems if problem.line < line]
            problems.append(Problem("too_many_rows", line, f"The input has more than {MAX_ROWS:,} rows."))
        self.problems = (self.problems + problems)[:MAX_PROBLEMS]
        self.id_hashes.frombytes(found.id_hashes.tobytes())
        self.lines += found.lines
        self.rows += len(found.numbers)
        self.input_tokens += found.input_tokens
        self.longest_row_tokens = max(self.longest_row_tokens, found.longest_row_tokens)
        self.largest_cap = max(self.largest_cap, found.largest_cap)
        self.media_rows += found.media_rows
        self.media += found.media

    @property
    def is_over(self) -> bool:
        """Whether enough was found to say what is wrong."""
        return len(self.problems) == MAX_PROBLEMS or self.rows > MAX_ROWS
