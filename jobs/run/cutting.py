"""Cuts a checked file into chunks, bounded by rows, input bytes and expected output bytes; pure."""

from jobs.models import Chunk
from jobs.run.context import Context
from jobs.run.lines import Line

CHUNK_ROWS = 1024
CHUNK_BYTES = 16 * 1024 * 1024
CHUNK_OUTPUT_BYTES = 64 * 1024 * 1024
# What a token, a number of a vector and an answered question take up in a result line, at most or nearly so.
BYTES_PER_TOKEN, BYTES_PER_NUMBER, BYTES_PER_DECISION = 8, 24, 1024


class Cutter:
    """Takes the lines of a job in order; `chunks` are those that were closed."""

    def __init__(self, context: Context) -> None:
        self.chunks: list[Chunk] = []
        self._job_id = context.job_id
        self._max_rows = max(1, min(CHUNK_ROWS, CHUNK_OUTPUT_BYTES // _answer_bytes(context)))
        self._first_row = self._rows = self._start = self._end = 0

    def add(self, line: Line) -> None:
        """Take a line into the open chunk, or begin the next one with it."""
        if self._rows and (self._rows == self._max_rows or line.end - self._start > CHUNK_BYTES):
            self.cut()
        if not self._rows:
            self._start = line.start
        self._rows += 1
        self._end = line.end

    def cut(self) -> None:
        """Close the open chunk."""
        if not self._rows:
            return
        self.chunks.append(
            Chunk(
                job_id=self._job_id,
                kind=Chunk.Kind.ROWS,
                index=len(self.chunks),
                first_row=self._first_row,
                row_count=self._rows,
                byte_start=self._start,
                byte_end=self._end,
                done="0" * self._rows,
            )
        )
        self._first_row, self._rows = self._first_row + self._rows, 0


def _answer_bytes(context: Context) -> int:
    """A generous bound of what a row's answer takes up in its result line."""
    model = context.model
    if model.embedding is not None:
        return (context.options.dimensions or model.embedding.dimensions) * BYTES_PER_NUMBER
    if model.decisions is not None:
        return model.decisions.max_questions * BYTES_PER_DECISION
    return (context.options.max_output_tokens or model.max_output_tokens or 1) * BYTES_PER_TOKEN
