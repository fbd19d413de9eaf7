"""What is found to be wrong with an input; pure, for it crosses from one process to another."""

from dataclasses import dataclass

MAX_PROBLEMS = 100  # reported of one input


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a line of the input; `line` counts from 1, 0 when it is about the file or the job.

    `custom_id` is the row's, where it could be read, cut short where it is very long.
    """

    code: str
    line: int
    message: str
    param: str | None = None
    custom_id: str | None = None
