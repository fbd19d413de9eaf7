"""Checks every row of an input, counts its tokens and cuts the file into chunks.

Nothing is written to the database until the whole file was read; then everything is, in one transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from uuid import UUID

from django.db import transaction

from accounts.selectors import plans
from anex.core.actors import system
from inference.backends import registry
from jobs.lifecycle import Status
from jobs.models import Chunk, Job
from jobs.run import claims, conversion, estimates, probing, sampling, selection
from jobs.run.checkers import check_spans
from jobs.run.claims import Claim, Interrupted
from jobs.run.context import Context, load, room_for_output
from jobs.run.cutting import Cut, Cutter
from jobs.run.drawing import Sampler
from jobs.run.duplicates import find_duplicates
from jobs.run.estimates import SampledRow
from jobs.run.failures import fail_before_approval
from jobs.run.problems import Problem
from jobs.run.scope import Counter, Scope
from jobs.run.totals import Checked
from jobs.services.transitions import advance
from jobs.storage.interface import ObjectChanged, ObjectMissing
from jobs.tolerance import SAMPLE_ROWS


def validate(claim: Claim, *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Check a job's input; the job moves on to its estimate, or fails naming the line. Raises Interrupted."""
    begun = _start(claim) and selection.give_own_input(claim, go_on=go_on)
    if not begun or not conversion.give_rows(claim, go_on=go_on):
        return
    context = load(claim.job_id)
    scope = _scope(context)
    cutter = Cutter(scope)
    # Seeded by the job, so that a check that is made again draws the same rows.
    sampler = Sampler(SAMPLE_ROWS, seed=claim.job_id.int)

    def pulse() -> None:
        if not go_on():
            raise Interrupted

    try:
        checked = _check(scope, cutter, sampler, pulse)
        if not checked.problems and not checked.rows:
            checked.problems.append(Problem("empty_file", 0, "The input file has no rows."))
        if not checked.is_over:
            checked.note(find_duplicates(scope, checked.id_hashes, cutter.cuts, pulse=pulse))
        if not checked.problems:
            probing.refine(claim, context, checked, cutter.cuts, go_on=go_on)
        may_run = not checked.problems and sampling.may_be_needed(context)
        to_run = sampling.rows_to_run(context, [SampledRow(*row) for row in sampler.rows]) if may_run else []
    except (ObjectChanged, ObjectMissing):
        gone = Problem("input_gone", 0, "The input file was replaced or deleted after it was uploaded.")
        checked = Checked(problems=[gone])
    if not checked.problems and (unsold := estimates.not_offered(Job.objects.get(pk=claim.job_id))):
        checked.problems.append(unsold)
    if checked.problems:
        fail_before_approval(claim, context.store, checked.problems)
        return
    _commit(claim, context, checked, cutter.cuts, to_run)


def _start(claim: Claim) -> bool:
    advance(claim.job_id, to=Status.ESTIMATING, actor=system("validation"))
    return Job.objects.filter(pk=claim.job_id, status=Status.ESTIMATING).exists()


def _scope(context: Context) -> Scope:
    servers = [server for server in registry.live(context.region) if server.model_id == context.model.id]
    return Scope(
        store=context.store,
        key=context.input_key,
        etag=context.input_etag,
        size_bytes=context.input_bytes,
        model=context.model,
        options=context.options,
        counting_server=Counter(servers[0].base_url, servers[0].served_name, servers[0].api_key) if servers else None,
    )


def _check(scope: Scope, cutter: Cutter, sampler: Sampler, pulse: Callable[[], None]) -> Checked:
    checked = Checked()
    with closing(check_spans(scope, pulse=pulse)) as spans:
        for found in spans:
            cutter.add(found.numbers + checked.lines, found.starts, found.ends)
            sampler.add(found.starts, found.ends)
            checked.add(found)
            if checked.is_over:
                break
    cutter.cut()
    return checked


def _commit(claim: Claim, context: Context, checked: Checked, cuts: list[Cut], sample: list[SampledRow]) -> None:
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=claim.job_id)
        if not claims.close(claim):
            return
        Chunk.objects.bulk_create(_chunks(claim.job_id, cuts), batch_size=2000)
        job.row_count = checked.rows
        job.est_input_tokens = checked.input_tokens
        job.longest_row_tokens = checked.longest_row_tokens
        job.media_rows = checked.media_rows
        job.est_media = asdict(checked.media) if checked.media_rows else None
        job.save(update_fields=["row_count", "est_input_tokens", "longest_row_tokens", "media_rows", "est_media"])
        if sample:
            estimates.plan_sample(claim.job_id, sample)
        else:
            estimates.quote(claim.job_id, output_cap=_output_cap(context, checked, job))


def _output_cap(context: Context, checked: Checked, job: Job) -> int:
    """Tokens: as given, within the room of the longest row; the largest of caps that rows keep (000, batch price)."""
    if context.options.profile.keeps_own_settings:
        return plans.of(job.organization_id).cap(checked.largest_cap)
    return min(context.options.max_output_tokens or 0, room_for_output(context.model, job))


def _chunks(job_id: UUID, cuts: list[Cut]) -> Iterator[Chunk]:
    for index, cut in enumerate(cuts):
        yield Chunk(
            job_id=job_id,
            kind=Chunk.Kind.ROWS,
            index=index,
            first_row=cut.first_row,
            row_count=cut.row_count,
            byte_start=cut.start,
            byte_end=cut.end,
            done="0" * cut.row_count,
        )
