"""Checks every row of an input in one pass, counts its tokens and cuts the file into chunks.

Nothing is written to the database until the whole file was read; then everything is, in one transaction.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from django.db import transaction

from anex.core.actors import system
from inference import tokens
from inference.backends import registry
from inference.requests import rows as requests
from inference.requests.errors import TemplateRefused
from jobs.lifecycle import Status
from jobs.models import Chunk, Job
from jobs.run import claims, estimates, selection
from jobs.run.claims import Claim, Interrupted
from jobs.run.context import Context, load, room_for_output
from jobs.run.failures import Problem, fail_before_approval
from jobs.run.lines import Line, read_lines
from jobs.services.transitions import advance
from jobs.storage.interface import ObjectChanged, ObjectMissing
from jobs.tolerance import SAMPLE_ROWS, Reservoir

CHUNK_ROWS = 1024
CHUNK_BYTES = 16 * 1024 * 1024
CHUNK_OUTPUT_BYTES = 64 * 1024 * 1024
# What a token, a number of a vector and an answered question take up in a result line, at most or nearly so.
BYTES_PER_TOKEN, BYTES_PER_NUMBER, BYTES_PER_DECISION = 8, 24, 1024
MAX_ROWS = 10_000_000
MAX_PROBLEMS = 100
COUNTED_TOGETHER = 512
COUNTED_BYTES = 16 * 1024 * 1024  # or less than that many rows
QUOTED_CHARACTERS = 64  # of a custom_id, in a sentence


@dataclass(slots=True)
class _Checked:
    """What one pass over the file found out, and which rows it drew for a sample."""

    sample: Reservoir[estimates.SampledRow]
    chunks: list[Chunk] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    rows: int = 0
    input_tokens: int = 0
    longest_row_tokens: int = 0


class _TooManyProblems(Exception):
    """Enough was found to say what is wrong."""


def validate(claim: Claim, *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Check a job's input; the job moves on to its estimate, or fails naming the line. Raises Interrupted."""
    if not _start(claim) or not selection.give_own_input(claim, go_on=go_on):
        return
    context = load(claim.job_id)
    try:
        checked = _check(context, go_on)
        if not checked.problems and not checked.rows:
            checked.problems.append(Problem("empty_file", 0, "The input file has no rows."))
        if not checked.problems:
            checked.problems = _repeated_ids(context, checked, go_on)
    except (ObjectChanged, ObjectMissing):
        gone = Problem("input_gone", 0, "The input file was replaced or deleted after it was uploaded.")
        checked = _Checked(_no_sample(claim.job_id), problems=[gone])
    if checked.problems:
        fail_before_approval(claim, context.store, checked.problems)
        return
    _commit(claim, context, checked)


def _start(claim: Claim) -> bool:
    advance(claim.job_id, to=Status.ESTIMATING, actor=system("validation"))
    return Job.objects.filter(pk=claim.job_id, status=Status.ESTIMATING).exists()


def _no_sample(job_id: UUID) -> Reservoir[estimates.SampledRow]:
    """Seeded by the job, so that a check that is made again draws the same rows."""
    return Reservoir(SAMPLE_ROWS, seed=job_id.int)


def _needs_sample(context: Context) -> bool:
    """Whether answers have to be measured: only a chat row writes, and a cap may be given."""
    return context.model.task == "chat" and context.options.max_output_tokens is None


def _lines(context: Context, go_on: Callable[[], bool]) -> Iterator[Line]:
    for place, line in enumerate(read_lines(context.store.stream(context.input_key, etag=context.input_etag))):
        if place % COUNTED_TOGETHER == 0 and not go_on():
            raise Interrupted
        yield line


def _check(context: Context, go_on: Callable[[], bool]) -> _Checked:
    checked, sampling = _Checked(_no_sample(context.job_id)), _needs_sample(context)
    cutter = _Cutter(context, checked)
    batch: list[tuple[Line, requests.Row]] = []
    batch_bytes = 0
    try:
        for line in _lines(context, go_on):
            if sampling:
                checked.sample.add(estimates.SampledRow(checked.rows, line.start, line.end))
            if row := _parse(context, checked, line):
                batch.append((line, row))
                batch_bytes += line.end - line.start
            cutter.add(line)
            if len(batch) == COUNTED_TOGETHER or batch_bytes >= COUNTED_BYTES:
                _count(context, checked, batch)
                batch.clear()
                batch_bytes = 0
        _count(context, checked, batch)
    except _TooManyProblems:
        return checked
    cutter.cut()
    return checked


def _note(checked: _Checked, problem: Problem) -> None:
    checked.problems.append(problem)
    if len(checked.problems) >= MAX_PROBLEMS:
        raise _TooManyProblems


def _parse(context: Context, checked: _Checked, line: Line) -> requests.Row | None:
    checked.rows += 1
    if checked.rows > MAX_ROWS:
        _note(checked, Problem("too_many_rows", line.number, f"The input has more than {MAX_ROWS:,} rows."))
        raise _TooManyProblems
    if line.text is None:
        _note(checked, Problem("line_too_long", line.number, "The line is longer than 32 MiB."))
        return None
    try:
        row = requests.parse(line.text, model=context.model, options=context.options)
    except requests.RowError as error:
        _note(checked, Problem(error.code, line.number, error.message, error.param))
        return None
    checked.id_hashes.append(hash(row.custom_id))
    return row


def _count(context: Context, checked: _Checked, batch: list[tuple[Line, requests.Row]]) -> None:
    if not batch:
        return
    for (line, row), count in zip(batch, _counts(context, checked, batch), strict=True):
        checked.input_tokens += count
        checked.longest_row_tokens = max(checked.longest_row_tokens, count)
        if context.model.task != "decide" and count + _least_output(context) > context.model.context_tokens:
            _note(checked, Problem("row_too_long", line.number, _too_long(context, row, count), "messages"))


def _least_output(context: Context) -> int:
    """The output a row's context must have room for; a decision's longer text is cut to it, an embedding has none."""
    return context.options.max_output_tokens or int(context.model.task == "chat")


def _counts(context: Context, checked: _Checked, batch: list[tuple[Line, requests.Row]]) -> list[int]:
    rows = [row for _, row in batch]
    servers = [server for server in registry.live(context.region) if server.model_id == context.model.id]
    try:
        return tokens.count_rows(context.model, rows, counting_server=servers[0] if servers else None)
    except TemplateRefused as refusal:
        _note(checked, Problem(refusal.code, batch[refusal.index][0].number, refusal.message, "messages"))
        raise _TooManyProblems from refusal


def _too_long(context: Context, row: requests.Row, count: int) -> str:
    model, cap = context.model, context.options.max_output_tokens
    if cap is None or count >= model.context_tokens:
        return (
            f"Row {_quoted(row)} is too long: {count:,} input tokens exceeds the {model.context_tokens:,}-token "
            f"maximum that model '{model.id}' can serve. Shorten or split this row."
        )
    return (
        f"Row {_quoted(row)} is too long: {count:,} input tokens and up to {cap:,} output tokens exceed the "
        f"{model.context_tokens:,}-token context of model '{model.id}'. Shorten the row or lower max_output_tokens."
    )


def _quoted(row: requests.Row) -> str:
    """The custom_id as a sentence names it: it may be as long as the line."""
    shown = row.custom_id[:QUOTED_CHARACTERS]
    return repr(shown if shown == row.custom_id else f"{shown}…")


def _repeated_ids(context: Context, checked: _Checked, go_on: Callable[[], bool]) -> list[Problem]:
    """Exact, though only hashes are kept: rows whose hash occurs twice are compared by a second reading."""
    hashes = np.sort(np.frombuffer(checked.id_hashes, dtype=np.int64))
    suspects = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if not suspects:
        return []
    seen: dict[str, int] = {}
    problems = []
    for line in _lines(context, go_on):
        row = requests.parse(line.text or b"", model=context.model, options=context.options)
        if hash(row.custom_id) not in suspects:
            continue
        if first := seen.get(row.custom_id):
            message = f"custom_id {_quoted(row)} was already used on line {first}."
            problems.append(Problem("duplicate_custom_id", line.number, message, "custom_id"))
            if len(problems) == MAX_PROBLEMS:
                break
        seen.setdefault(row.custom_id, line.number)
    return problems


class _Cutter:
    """Cuts the file into chunks bounded by rows, input bytes and expected output bytes."""

    def __init__(self, context: Context, checked: _Checked) -> None:
        self._checked = checked
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
        self._checked.chunks.append(
            Chunk(
                job_id=self._job_id,
                kind=Chunk.Kind.ROWS,
                index=len(self._checked.chunks),
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


def _commit(claim: Claim, context: Context, checked: _Checked) -> None:
    cap = context.options.max_output_tokens or 0
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=claim.job_id)
        if not claims.close(claim):
            return
        Chunk.objects.bulk_create(checked.chunks, batch_size=2000)
        job.row_count = checked.rows
        job.est_input_tokens = checked.input_tokens
        job.longest_row_tokens = checked.longest_row_tokens
        job.save(update_fields=["row_count", "est_input_tokens", "longest_row_tokens"])
        if _needs_sample(context):
            estimates.plan_sample(claim.job_id, checked.sample.items)
        else:
            estimates.quote(claim.job_id, output_cap=min(cap, room_for_output(context.model, job)))
