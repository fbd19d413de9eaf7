"""POST /jobs/{id}/pause and /resume: the status stays in_progress (additions to reference 003)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections

from accounts.models import AuditEvent
from billing.selectors import balances
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.run.finalization import finish_rows
from jobs.services import doorbell
from tests.factories import KeyInHand
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of


def call(api, job, verb):
    return api.post(f"/batch/v1/jobs/{job.pk}/{verb}")


def test_paused_job_stays_in_progress_and_says_so(api, acme, django_capture_on_commit_callbacks):
    job = stages.running(acme)
    with django_capture_on_commit_callbacks() as callbacks:
        answer = call(api, job, "pause")
    assert (answer.status_code, answer.json()) == (200, {"id": str(job.pk), "status": "in_progress", "paused": True})
    shown = api.get(f"/batch/v1/jobs/{job.pk}").json()
    assert (shown["status"], shown["paused"]) == ("in_progress", True)
    assert doorbell._send in callbacks


def test_resumed_job_goes_on(api, acme, django_capture_on_commit_callbacks):
    job = stages.running(acme)
    call(api, job, "pause")
    with django_capture_on_commit_callbacks() as callbacks:
        answer = call(api, job, "resume")
    assert (answer.status_code, answer.json()["paused"]) == (200, False)
    assert not Job.objects.get().paused
    assert doorbell._send in callbacks


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_repetition_changes_nothing_and_answers_the_same(api, acme, verb):
    job = stages.running(acme, paused=verb == "resume")
    first, second = call(api, job, verb), call(api, job, verb)
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert AuditEvent.objects.filter(target=str(job.pk)).count() == 1


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize("status", [status for status in Status if status != Status.IN_PROGRESS])
def test_job_that_is_not_in_progress_is_409(api, acme, status, verb):
    job = stages.quoted(acme, status=status)
    answer = call(api, job, verb)
    assert answer.status_code == 409
    assert status in answer.json()["detail"]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_foreign_job_is_404_like_an_unknown_one(api, globex, verb):
    foreign = stages.quoted(globex)
    assert call(api, foreign, verb).status_code == 404
    assert call(api, foreign, verb).json() == call(api, Job(), verb).json()


def test_cancel_of_a_paused_job_ends_it_and_the_pause(api, acme):
    job = stages.running(acme)
    call(api, job, "pause")
    assert call(api, job, "cancel").json()["status"] == "cancelled"
    assert not Job.objects.get().paused
    assert balances.get(acme.pk).held_nano == 0


def test_job_whose_last_rows_finish_while_it_is_paused_moves_on(api, acme):
    job = stages.running(acme)
    call(api, job, "pause")
    job.chunks.update(closed=True)
    assert finish_rows(job.pk)
    job.refresh_from_db()
    assert (job.status, job.paused) == ("finalizing", False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rival", ["cancel", "finish"])
def test_pause_that_meets_an_end_has_one_outcome(key: KeyInHand, acme, rival):
    for _ in range(5):
        job = stages.running(acme)
        if rival == "finish":
            job.chunks.update(closed=True)
        barrier = Barrier(2)

        def end(job=job, barrier=barrier) -> object:
            try:
                barrier.wait(timeout=30)
                return call(client_of(key), job, "cancel").status_code if rival == "cancel" else finish_rows(job.pk)
            finally:
                connections.close_all()

        def pause(job=job, barrier=barrier) -> int:
            try:
                barrier.wait(timeout=30)
                return call(client_of(key), job, "pause").status_code
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            ended, paused = pool.submit(end), pool.submit(pause)
        assert ended.result() in (200, True)
        assert paused.result() in (200, 409)
        job.refresh_from_db()
        assert (job.status, job.paused) == ("cancelled" if rival == "cancel" else "finalizing", False)
