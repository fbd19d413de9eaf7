"""What a pause does to workers: nothing new is claimed or sent, what is in flight counts, nothing is blamed."""

import random
from typing import Any

import pytest

from accounts.models import Organization
from anex.core.actors import system
from anex.core.errors import Conflict
from jobs.models import Chunk, Job, Part
from jobs.run import cutting
from jobs.run.claims import claim
from jobs.services import cancellations, pauses
from tests.jobs.run.driver import HandLease, approve, chat_line, claim_one, submit, validate
from tests.jobs.run.finished import finish
from tests.jobs.run.test_pump import result, wait_for, wait_until

ACTOR = system("test")


def submitted(organization: Organization, lines: int) -> Job:
    data = "\n".join(chat_line(f"row-{row}", f"[[sleep 30]] {row}") for row in range(lines))
    return submit(organization, data.encode())


def running(organization: Organization) -> Job:
    """Checked by hand, where no pump is there to do it."""
    return approve(validate(submitted(organization, 1)))


def running_by_pump(organization: Organization, lines: int = 1) -> Job:
    return approve(wait_for(submitted(organization, lines), "cost_ready"))


def pause(job: Job) -> None:
    pauses.pause(organization_id=job.organization_id, job_id=job.pk, actor=ACTOR)


def resume(job: Job) -> None:
    pauses.resume(organization_id=job.organization_id, job_id=job.pk, actor=ACTOR)


def test_chunks_of_a_paused_job_are_claimed_by_nobody_until_it_is_resumed(acme: Organization) -> None:
    job = running(acme)
    pause(job)
    assert claim_one(HandLease(), "rows") is None
    assert claim_one(HandLease(reclaims=True), "rows") is None
    resume(job)
    assert claim_one(HandLease(), "rows")


def test_other_jobs_go_on(acme: Organization) -> None:
    paused, other = running(acme), running(acme)
    pause(paused)
    found = claim_one(HandLease(), "rows")
    assert found
    assert found.job_id == other.pk


def test_paused_jobs_do_not_set_the_pace_that_is_promised(acme: Organization) -> None:
    assert finish(validate(submitted(acme, 1)), {0: "success"}).tokens_per_second
    paused = validate(submitted(acme, 1))
    assert paused.est_processing_seconds
    Job.objects.filter(pk=paused.pk).update(paused_at=paused.created_at)
    assert finish(paused, {0: "success"}).tokens_per_second is None


@pytest.mark.django_db(transaction=True)
def test_rows_in_flight_finish_and_the_rest_waits_unblamed(
    acme: Organization, engine: Any, pump: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 200)
    job = running_by_pump(acme, lines=600)
    rows = Chunk.objects.filter(job=job, kind="rows")
    wait_until(lambda: Part.objects.filter(chunk__in=rows).exists())
    pause(job)
    pump.ring()
    wait_until(lambda: not rows.exclude(epoch=None).filter(closed=False).exists())
    done = sum(chunk.done.count("1") for chunk in rows)
    assert 0 < done < 600
    assert set(rows.values_list("claims", flat=True)) == {0}
    settled = Part.objects.filter(chunk__in=rows).count()
    pump.ring()
    other = wait_for(running_by_pump(acme), "done")  # the worker has looked for work since
    assert other.result_rows == 1
    assert Part.objects.filter(chunk__in=rows).count() == settled
    resume(job)
    pump.ring()
    job = wait_for(job, "done")
    assert [line["custom_id"] for line in result(job)] == [f"row-{row}" for row in range(600)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(2))
def test_job_paused_and_resumed_at_random_answers_and_charges_every_row_once(
    acme: Organization, engine: Any, pump: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(cutting, "CHUNK_ROWS", 40)
    job = running_by_pump(acme, lines=300)
    for _ in range(6):
        parts = Part.objects.filter(chunk__job=job).count()
        wanted = parts + rng.randint(1, 5)
        wait_until(lambda job=job, wanted=wanted: _parts(job) >= wanted or _status(job) != "in_progress")  # type: ignore[misc]
        if _status(job) != "in_progress":
            break
        try:
            pause(job)
            pump.ring()
            resume(job)
            pump.ring()
        except Conflict:
            assert _status(job) != "in_progress"
    job = wait_for(job, "done")
    assert [line["custom_id"] for line in result(job)] == [f"row-{row}" for row in range(300)]
    assert sum(Part.objects.filter(chunk__job=job).values_list("success_rows", flat=True)) == job.success_rows


@pytest.mark.django_db(transaction=True)
def test_cancelling_a_paused_job_delivers_what_was_answered(acme: Organization, engine: Any, pump: Any) -> None:
    job = running_by_pump(acme, lines=400)
    wait_until(lambda: _parts(job) > 0)
    pause(job)
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=ACTOR)
    pump.ring()
    job = wait_for(job, "cancelled")
    assert not job.paused
    assert 0 < len(result(job)) < 400


def test_worker_that_already_holds_a_chunk_may_finish_it(acme: Organization) -> None:
    job = running(acme)
    lease = HandLease()
    held = claim_one(lease, "rows")
    assert held
    pause(job)
    assert claim(lease, region="world", kinds=["rows"], models=["scripted"], limit=1, held=[held.id]) == []  # type: ignore[arg-type]
    assert Chunk.objects.get(pk=held.id).epoch == lease.epoch


def _parts(job: Job) -> int:
    return Part.objects.filter(chunk__job=job).count()


def _status(job: Job) -> str:
    return Job.objects.values_list("status", flat=True).get(pk=job.pk)
