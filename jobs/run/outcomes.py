"""What became of one row: its result line, how it counts and what it costs; pure but for the JSON."""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from anex.core.usage import Usage
from jobs.sizing import Length

Count = Literal["success", "error", "format_error", "truncated"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`row` is its place in the chunk; `line` the result line without a line end; `cost_nano` in nano-dollars.

    `length` is measured of the answers of a sample. `reasoning` are the tokens of thinking among those that were
    written; None where the server thought and did not tell how much.
    """

    row: int
    line: bytes
    count: Count
    usage: Usage
    cost_nano: int
    length: Length | None = None
    reasoning: int | None = 0


def answered(
    row: int,
    custom_id: str,
    body: dict[str, Any],
    *,
    count: Count,
    usage: Usage,
    cost_nano: int,
    error: str | None,
    length: Length | None = None,
    reasoning: int | None = 0,
) -> Outcome:
    """A row the model answered; `error` says what is wrong with the answer, for a row counted as `format_error`."""
    line = {
        "custom_id": custom_id,
        "response": {"status_code": 200, "body": body},
        "error": error,
        "error_type": "response_format_unmet" if error else None,
    }
    return Outcome(row, orjson.dumps(line), count, usage, cost_nano, length, reasoning)


def refused(
    row: int,
    custom_id: str,
    message: str,
    error_type: str,
    *,
    count: Count = "error",
    response: dict[str, Any] | None = None,
) -> Outcome:
    """A row without an answer; it costs nothing. `response` is what the model said instead, where it is passed on."""
    line = {"custom_id": custom_id, "response": response, "error": message, "error_type": error_type}
    return Outcome(row, orjson.dumps(line), count, Usage(), 0)
