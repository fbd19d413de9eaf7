"""Parts whose objects are gone: the job ends with what is left, charges only that, and a retry sends the lost rows."""

import random

import pytest

from accounts.models import Organization
from billing.models import UsageRecord
from billing.selectors import balances
from jobs.models import Job, Part
from jobs.run import control, lost_parts
from jobs.run.claims import Claim
from jobs.run.control import give_up_or_release, run_control
from jobs.run.finalization import finish_rows
from jobs.selectors import contents, jobs
from jobs.storage import store
from jobs.storage.interface import ObjectMissing
from tests.jobs.run.driver import HandLease, approve, claim_one, submit, validate
from tests.jobs.run.finished import answer, claim_rows
from tests.jobs.run.test_pump import result
from tests.jobs.run.test_retries import lines_of, own_input, retry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("served")]


def finalizing(acme: Organization, rows: int) -> tuple[Job, HandLease]:
    """A job whose rows all have their answer, in several parts."""
    job = approve(validate(submit(acme, b"".join(lines_of(rows)))))
    lease = HandLease()
    for claim in claim_rows(lease, job):
        answer(claim, dict.fromkeys(range(rows), "success"), random.Random(3))
        control.claims.close(claim)
    finish_rows(job.pk)
    return job, lease


def finalize(lease: HandLease, times: int) -> Claim:
    """Fail so many times, as the pump does."""
    for _ in range(times):
        claim = claim_one(lease, "finalize")
        assert claim is not None
        with pytest.raises(ObjectMissing):
            run_control(claim)
        give_up_or_release(claim)
    return claim


def test_a_job_ends_without_the_rows_that_the_store_has_lost(acme: Organization) -> None:
    job, lease = finalizing(acme, 12)
    lost = Part.objects.filter(chunk__job=job).order_by("pk").first()
    assert lost is not None
    gone = {row for row, _ in lost_parts.parts.merge([store().read(lost.key)])}
    assert 0 < len(gone) < 12
    store().delete([lost.key])
    finalize(lease, control.TRIES)
    claim = claim_one(lease, "finalize")
    assert claim is not None
    run_control(claim)
    job.refresh_from_db()
    assert (job.status, job.partial, job.success_rows) == ("failed", True, 12 - len(gone))
    assert UsageRecord.objects.get(source=f"job:{job.pk}").input_tokens == 12 - len(gone)
    assert balances.get(acme.pk).held_nano == 0
    assert [line["custom_id"] for line in result(job)] == [f"row-{row}" for row in range(12) if row not in gone]
    assert contents.failure(job).reason == lost_parts.LOST.message
    assert jobs.retryable_rows(job) == len(gone)
    again = validate(retry(job))
    assert own_input(again) == b"".join(line for row, line in enumerate(lines_of(12)) if row in gone)


def test_nothing_is_given_up_while_the_store_has_every_part(acme: Organization) -> None:
    job, _ = finalizing(acme, 3)
    assert lost_parts.give_up(job.pk) == 0
    job.refresh_from_db()
    assert job.stop_reason == ""
