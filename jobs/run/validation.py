"""Checks every row of an input in one pass, counts its tokens and cuts the file into chunks.

Nothing is written to the database until the whole file was read; then everything is, in one transaction.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np
from django.db import transaction

from anex.core.actors import system
from inference.requests import rows as requests
from jobs.lifecycle import Status
from jobs.models import Chunk, Job
from jobs.run import claims, conversion, estimates, sampling, selection
from jobs.run.checking import COUNTED_TOGETHER, MAX_PROBLEMS, Checked, Checker, TooManyProblems
from jobs.run.claims import Claim, Interrupted
from jobs.run.context import Context, load, room_for_output
from jobs.run.cutting import Cutter
from jobs.run.estimates import SampledRow
from jobs.run.failures import Problem, fail_before_approval
from jobs.run.fitting import quoted
from jobs.run.lines import Line, read_lines
from jobs.services.transitions import advance
from jobs.storage.interface import ObjectChanged, ObjectMissing
from jobs.tolerance import SAMPLE_ROWS, Reservoir


def validate(claim: Claim, *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Check a job's input; the job moves on to its estimate, or fails naming the line. Raises Interrupted."""
    if not _start(claim) or not selection.give_own_input(claim, go_on=go_on):
        return
    if not conversion.give_rows(claim, go_on=go_on):
        return
    context = load(claim.job_id)
    cutter = Cutter(context)
    # Seeded by the job, so that a check that is made again draws the same rows.
    sample = Reservoir[SampledRow](SAMPLE_ROWS, seed=claim.job_id.int)
    try:
        checked = _check(context, cutter, sample, go_on)
        if not checked.problems and not checked.rows:
            checked.problems.append(Problem("empty_file", 0, "The input file has no rows."))
        if not checked.problems:
            checked.problems = _repeated_ids(context, checked, go_on)
        to_run = sampling.rows_to_run(context, sample.items) if not checked.problems else []
    except (ObjectChanged, ObjectMissing):
        gone = Problem("input_gone", 0, "The input file was replaced or deleted after it was uploaded.")
        checked = Checked(problems=[gone])
    if checked.problems:
        fail_before_approval(claim, context.store, checked.problems)
        return
    _commit(claim, context, checked, cutter.chunks, to_run)


def _start(claim: Claim) -> bool:
    advance(claim.job_id, to=Status.ESTIMATING, actor=system("validation"))
    return Job.objects.filter(pk=claim.job_id, status=Status.ESTIMATING).exists()


def _needs_sample(context: Context) -> bool:
    """Whether answers may have to be measured; which rows then are is known once they were drawn."""
    return sampling.may_be_needed(context)


def _lines(context: Context, go_on: Callable[[], bool]) -> Iterator[Line]:
    for place, line in enumerate(read_lines(context.store.stream(context.input_key, etag=context.input_etag))):
        if place % COUNTED_TOGETHER == 0 and not go_on():
            raise Interrupted
        yield line


def _check(context: Context, cutter: Cutter, sample: Reservoir[SampledRow], go_on: Callable[[], bool]) -> Checked:
    checker, drawing = Checker(context), _needs_sample(context)
    try:
        for row, line in enumerate(_lines(context, go_on)):
            if drawing:
                sample.add(SampledRow(row, line.start, line.end))
            checker.add(line)
            cutter.add(line)
        checker.finish()
    except TooManyProblems:
        return checker.checked
    cutter.cut()
    return checker.checked


def _repeated_ids(context: Context, checked: Checked, go_on: Callable[[], bool]) -> list[Problem]:
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
            message = f"custom_id {quoted(row.custom_id)} was already used on line {first}."
            problems.append(Problem("duplicate_custom_id", line.number, message, "custom_id"))
            if len(problems) == MAX_PROBLEMS:
                break
        seen.setdefault(row.custom_id, line.number)
    return problems


def _commit(claim: Claim, context: Context, checked: Checked, chunks: list[Chunk], sample: list[SampledRow]) -> None:
    cap = context.options.max_output_tokens or 0
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=claim.job_id)
        if not claims.close(claim):
            return
        Chunk.objects.bulk_create(chunks, batch_size=2000)
        job.row_count = checked.rows
        job.est_input_tokens = checked.input_tokens
        job.longest_row_tokens = checked.longest_row_tokens
        job.media_rows = checked.media_rows
        job.est_media = asdict(checked.media) if checked.media_rows else None
        job.save(update_fields=["row_count", "est_input_tokens", "longest_row_tokens", "media_rows", "est_media"])
        if sample:
            estimates.plan_sample(claim.job_id, sample)
        else:
            estimates.quote(claim.job_id, output_cap=min(cap, room_for_output(context.model, job)))
