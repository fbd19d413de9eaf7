"""The steps of a job between its rows: what a claimed chunk leads to, and what a killed worker left undone."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db.models import Exists, OuterRef

from jobs import storage
from jobs.lifecycle import Status
from jobs.models import Chunk, Job
from jobs.run import claims, lost_parts
from jobs.run.claims import Claim
from jobs.run.estimates import finish_sample
from jobs.run.failures import INTERNAL_ERROR, fail_before_approval, fail_estimate, stop_rows
from jobs.run.finalization import finalize, finish_rows
from jobs.run.problems import Problem
from jobs.run.validation import validate
from jobs.services import erasing
from jobs.storage.interface import Store

log = logging.getLogger(__name__)

TRIES = 5
INPUT_GONE = Problem("input_gone", 0, "The input file was replaced or deleted while the job was running.")


def run_control(claim: Claim, *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Run a claimed chunk of kind `validate` or `finalize` to its end; safe to repeat after a kill anywhere.

    Raises Interrupted soon after `go_on` says no.
    """
    if claim.kind == Chunk.Kind.VALIDATE:
        validate(claim, go_on=go_on)
    else:
        finalize(claim, go_on=go_on)
        erasing.erase_if_asked(claim.job_id)


def give_up_or_release(claim: Claim) -> None:
    """After an unexpected failure: an input whose check failed five times ends its job; all else is tried again.

    So is a result, from then on without the rows that the store has lost. Raises StoreUnavailable.
    """
    if claim.kind == Chunk.Kind.VALIDATE and claim.claims >= TRIES:
        problem = Problem(
            "check_failed", 0, "The input could not be checked. Please submit it again or contact support."
        )
        fail_before_approval(claim, _store(claim), [problem], code=INTERNAL_ERROR)
    else:
        if claim.kind == Chunk.Kind.FINALIZE and claim.claims >= TRIES:
            lost_parts.give_up(claim.job_id)
        claims.release(claim, blameless=False)


def input_gone(claim: Claim) -> None:
    """End the job of a chunk whose rows cannot be read any more."""
    if claim.kind == Chunk.Kind.SAMPLE:
        fail_estimate(claim.job_id, _store(claim), INPUT_GONE)
    else:
        stop_rows(claim.job_id, _store(claim), INPUT_GONE)


def finish_chunk(claim: Claim) -> bool:
    """Move the job on if this was its last chunk of the kind; returns whether it is to be finalized."""
    if claim.kind != Chunk.Kind.SAMPLE:
        return finish_rows(claim.job_id)
    finish_sample(claim.job_id)
    return False


def repair() -> None:
    """Move jobs on whose worker was killed between its last part and the step after it."""
    open_chunks = Chunk.objects.filter(job=OuterRef("pk"), closed=False)
    open_rows = open_chunks.filter(kind=Chunk.Kind.ROWS)
    open_estimate = open_chunks.filter(kind__in=[Chunk.Kind.VALIDATE, Chunk.Kind.SAMPLE])
    jobs = Job.objects.filter(region=settings.ANEX_REGION)
    for job_id in jobs.filter(~Exists(open_rows), status=Status.IN_PROGRESS).values_list("pk", flat=True):
        finish_rows(job_id)
    for job_id in jobs.filter(~Exists(open_estimate), status=Status.ESTIMATING).values_list("pk", flat=True):
        try:
            finish_sample(job_id)
        except LookupError:
            log.exception("the estimate of job %s cannot be finished", job_id)


def _store(claim: Claim) -> Store:
    return storage.store(Job.objects.values_list("region", flat=True).get(pk=claim.job_id))
