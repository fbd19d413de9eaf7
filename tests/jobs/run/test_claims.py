"""Who may claim what: the statement behind every step of the part protocol."""

from accounts.models import Organization
from anex.core.actors import system
from jobs.models import Job
from jobs.run import claims
from jobs.services import cancellations
from tests.jobs.run.driver import HandLease, approve, chat_line, claim_one, submit, validate


def running_job(organization: Organization) -> Job:
    return approve(validate(submit(organization, chat_line().encode())))


def cancel(job: Job) -> None:
    cancellations.cancel(organization_id=job.organization_id, job_id=job.pk, actor=system("test"))


def test_a_chunk_in_hand_is_claimed_by_nobody_else(acme: Organization) -> None:
    running_job(acme)
    assert claim_one(HandLease(), "rows")
    assert claim_one(HandLease(reclaims=True), "rows") is None


def test_a_chunk_this_worker_holds_but_does_not_run_is_claimed_again(acme: Organization) -> None:
    running_job(acme)
    lease = HandLease()
    first = claim_one(lease, "rows")
    again = claim_one(lease, "rows")
    assert first and again
    assert (again.id, again.epoch) == (first.id, first.epoch)
    running = claims.claim(lease, region="world", kinds=["rows"], models=["scripted"], limit=1, held=[first.id])  # type: ignore[arg-type]
    assert running == []


def test_a_released_chunk_is_free_and_a_closed_one_is_not(acme: Organization) -> None:
    running_job(acme)
    first = claim_one(HandLease(), "rows")
    assert first
    claims.release(first)
    second = claim_one(HandLease(), "rows")
    assert second
    assert claims.close(second)
    assert not claims.close(first)
    assert claim_one(HandLease(), "rows") is None


def test_rows_wait_for_approval_and_for_a_server_of_their_model(acme: Organization) -> None:
    job = validate(submit(acme, chat_line().encode()))
    assert claim_one(HandLease(), "rows") is None
    approve(job)
    assert claim_one(HandLease(), "rows", model_id="another") is None
    assert claim_one(HandLease(), "rows")


def test_finalization_of_a_cancelled_job_waits_for_rows_that_still_run(acme: Organization) -> None:
    job = running_job(acme)
    holder = HandLease()
    rows = claim_one(holder, "rows")
    assert rows
    cancel(job)
    assert claim_one(HandLease(), "finalize") is None
    claims.release(rows)
    assert claim_one(HandLease(), "finalize")


def test_a_worker_that_dropped_a_cancelled_jobs_chunk_may_finalize_it(acme: Organization) -> None:
    job = running_job(acme)
    lease = HandLease()
    rows = claim_one(lease, "rows")
    assert rows
    cancel(job)
    in_hand = claims.claim(
        lease,  # type: ignore[arg-type]
        region="world",
        kinds=["finalize"],
        models=[],
        limit=1,
        held=[rows.id],
    )
    assert in_hand == []
    assert claim_one(lease, "finalize")


def test_workers_at_the_same_model_know_of_each_other(acme: Organization) -> None:
    approve(validate(submit(acme, "\n".join(chat_line(f"row-{row}") for row in range(3)).encode())))
    one, other = HandLease(), HandLease()
    assert claim_one(one, "rows") is not None
    assert claims.workers_at_models(other) == {"scripted": 1}  # type: ignore[arg-type]
    assert claims.workers_at_models(one) == {}  # type: ignore[arg-type]
