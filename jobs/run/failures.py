"""How a job fails: the code and line go to the database, the sentences to the job's own object in the store."""

from dataclasses import asdict
from uuid import UUID

import orjson
from django.db import transaction

from anex.core import clock
from anex.core.actors import system
from jobs.lifecycle import Status
from jobs.models import Chunk, Job
from jobs.run import claims
from jobs.run.claims import Claim
from jobs.run.problems import Problem
from jobs.services.endings import DATA_KEPT, NOTHING_RAN
from jobs.services.inputs import PARQUET
from jobs.services.transitions import advance
from jobs.storage import keys
from jobs.storage.interface import Store

INVALID_INPUT = "invalid_input"
INTERNAL_ERROR = "internal_error"


def store_report(store: Store, job_id: UUID, problems: list[Problem]) -> None:
    """Write the failure's sentences; `reason` is the first problem's. A line of a parquet input is its row."""
    first, format = problems[0], Job.objects.values_list("input__format", flat=True).get(pk=job_id)
    place = "Row" if format == PARQUET else "Line"
    reason = f"{place} {first.line}: {first.message}" if first.line else first.message
    report = {"reason": reason, "errors": [asdict(problem) for problem in problems]}
    store.put(keys.failure(job_id), orjson.dumps(report))


def fail_before_approval(claim: Claim, store: Store, problems: list[Problem], *, code: str = INVALID_INPUT) -> None:
    """End a job whose input is refused, if its chunk is still held; nothing was held, nothing is charged."""
    store_report(store, claim.job_id, problems)
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=claim.job_id)
        if claims.close(claim):
            _fail(claim.job_id, problems[0], code)


def fail_estimate(job_id: UUID, store: Store, problem: Problem) -> None:
    """End a job that cannot be priced; nothing was held, nothing is charged."""
    store_report(store, job_id, [problem])
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job_id)
        _fail(job_id, problem, INVALID_INPUT)


def _fail(job_id: UUID, problem: Problem, code: str) -> None:
    now = clock.now()
    failed = advance(
        job_id,
        to=Status.FAILED,
        actor=system("estimate"),
        failure_code=code,
        failure_line=problem.line or None,
        finished_at=now,
        data_expires_at=now + DATA_KEPT,
        **NOTHING_RAN,
    )
    if failed:
        Chunk.objects.filter(job_id=job_id).update(closed=True)


def stop_rows(job_id: UUID, store: Store, problem: Problem) -> None:
    """Stop a running job that cannot go on: what is done is delivered and charged, the rest of the hold released."""
    store_report(store, job_id, [problem])
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job_id)
        if advance(job_id, to=Status.FINALIZING, actor=system("worker"), stop_reason=INTERNAL_ERROR):
            claims.fence(job_id)
            Chunk.objects.get_or_create(job_id=job_id, kind=Chunk.Kind.FINALIZE, index=0)
