"""Jobs brought to their end by hand: each row gets the outcome a test wants, through the real claims and parts."""

import random
from collections.abc import Mapping

from anex.core.actors import system
from anex.core.usage import Usage
from jobs.models import Job
from jobs.run import claims, outcomes, parts
from jobs.run.claims import Claim
from jobs.run.control import run_control
from jobs.run.finalization import finish_rows
from jobs.run.outcomes import Outcome
from jobs.services import cancellations
from jobs.storage import store
from tests.jobs.run.driver import HandLease, approve, claim_one

COST_NANO = 1_000


def finish(job: Job, kinds: Mapping[int, str], *, rng: random.Random | None = None) -> Job:
    """Approve a quoted job, give the rows in `kinds` their outcome, end it; it is cancelled where rows are left."""
    rng = rng or random.Random(0)
    approve(job)
    lease = HandLease()
    for claim in claim_rows(lease, job):
        answer(claim, kinds, rng)
        claims.release(claim)
    if not finish_rows(job.pk):
        cancellations.cancel(organization_id=job.organization_id, job_id=job.pk, actor=system("test"))
    if claim := claim_one(lease, "finalize", model_id=job.model_id):
        run_control(claim)
    job.refresh_from_db()
    return job


def claim_rows(lease: HandLease, job: Job) -> list[Claim]:
    """Every free chunk of rows of the job's model; a claim looks at a few of them."""
    found: list[Claim] = []
    while more := claims.claim(
        lease,  # type: ignore[arg-type]
        region="world",
        kinds=["rows"],
        models=[job.model_id],
        limit=1000,
        held=[claim.id for claim in found],
    ):
        found += more
    return found


def answer(claim: Claim, kinds: Mapping[int, str], rng: random.Random, *, cost_nano: int = COST_NANO) -> None:
    """Make the rows of the chunk that are in `kinds`, by their place in the file, durable in parts."""
    rows = [row for row in range(claim.row_count) if claim.first_row + row in kinds]
    rng.shuffle(rows)
    while rows:
        taken = [rows.pop() for _ in range(rng.randint(1, len(rows)))]
        _commit(claim, [_outcome(row, claim.first_row + row, kinds, cost_nano) for row in taken])


def _outcome(row: int, place: int, kinds: Mapping[int, str], cost_nano: int) -> Outcome:
    kind, custom_id = kinds[place], f"row-{place}"
    if kind == "error":
        return outcomes.refused(row, custom_id, "no", "invalid_request_error")
    error = "not JSON" if kind == "format_error" else None
    usage = Usage(input_tokens=1, output_tokens=1)
    return outcomes.answered(row, custom_id, {}, count=kind, usage=usage, cost_nano=cost_nano, error=error)  # type: ignore[arg-type]


def _commit(claim: Claim, rows: list[Outcome]) -> None:
    key, size_bytes = parts.store_part(store(), claim, rows)
    assert parts.commit_part(claim, rows, key=key, size_bytes=size_bytes)
