"""POST /jobs/{id}/cancel (reference 001, cancel a job; reference 003, cancelJob)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent
from anex.core.money import cents_to_nano
from billing.selectors import balances
from jobs.models import Chunk, Job, JobEvent
from jobs.services import cancellations, doorbell
from tests.factories import KeyInHand
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of


def cancel(api, job):
    answer = api.post(f"/batch/v1/jobs/{job.pk}/cancel")
    job.refresh_from_db()
    return answer


def assert_ended_with_nothing(job: Job) -> None:
    assert (job.status, job.stop_reason, job.charge_cents) == ("cancelled", "cancelled", 0)
    counts = (job.success_rows, job.error_rows, job.format_error_rows, job.truncated_rows)
    assert counts == (0, 0, 0, 0)
    assert job.partial is False
    assert (job.data_expires_at - job.finished_at).days == 30
    assert not job.chunks.filter(closed=False).exists()


@pytest.mark.parametrize("make", [stages.submitted, stages.quoted])
def test_a_job_that_was_not_approved_stops_at_once(api, acme, make):
    job = make(acme)
    answer = cancel(api, job)
    assert (answer.status_code, answer.json()) == (200, {"id": str(job.pk), "status": "cancelled"})
    assert_ended_with_nothing(job)


def test_a_running_job_nobody_works_on_stops_at_once_and_frees_its_hold(api, acme):
    job = stages.running(acme)
    before = balances.get(acme.pk)
    assert cancel(api, job).json()["status"] == "cancelled"
    assert_ended_with_nothing(job)
    after = balances.get(acme.pk)
    assert (after.held_nano, after.balance_nano) == (0, before.balance_nano)
    assert after.available_nano == before.available_nano + cents_to_nano(72)
    assert api.get(f"/batch/v1/jobs/{job.pk}").json()["pending_rows"] == 100


def test_a_job_with_rows_in_flight_answers_cancelling(api, acme, django_capture_on_commit_callbacks):
    job, live = stages.running(acme), stages.worker()
    held = stages.claim(job, index=0, by=live)
    with django_capture_on_commit_callbacks() as callbacks:
        answer = cancel(api, job)
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelling")
    assert (job.status, job.stop_reason, job.charge_cents) == ("cancelling", "cancelled", None)
    held.refresh_from_db()
    assert (held.closed, held.epoch) == (False, live.pk)
    assert job.chunks.get(kind=Chunk.Kind.ROWS, index=1).closed
    assert job.chunks.filter(kind=Chunk.Kind.FINALIZE, index=0, closed=False).count() == 1
    assert balances.get(acme.pk).held_nano == cents_to_nano(72)
    assert doorbell._send in callbacks


def test_answers_already_made_are_delivered_so_the_job_is_finalized(api, acme):
    job = stages.running(acme)
    stages.part(job)
    assert cancel(api, job).json()["status"] == "cancelling"
    assert not job.chunks.filter(kind=Chunk.Kind.ROWS, closed=False).exists()
    assert job.chunks.filter(kind=Chunk.Kind.FINALIZE).exists()


def test_a_chunk_of_a_silent_worker_is_closed_and_its_claim_voided(api, acme, settings):
    job = stages.running(acme)
    held = stages.claim(job, by=stages.worker(silent_for=settings.ANEX_LEASE_SECONDS + 1))
    assert cancel(api, job).json()["status"] == "cancelled"
    held.refresh_from_db()
    assert (held.closed, held.epoch) == (True, None)


def test_a_chunk_whose_worker_is_gone_does_not_keep_the_job(api, acme):
    job, gone = stages.running(acme), stages.worker()
    stages.claim(job, by=gone)
    gone.delete()
    assert cancel(api, job).json()["status"] == "cancelled"


def test_cancelling_repeated_changes_nothing(api, acme):
    job = stages.running(acme)
    stages.part(job)
    cancel(api, job)
    again = cancel(api, job)
    assert (again.status_code, again.json()["status"]) == (200, "cancelling")
    assert JobEvent.objects.filter(job=job).count() == 1
    assert AuditEvent.objects.filter(action="job.cancelled").count() == 1


def test_records_which_key_cancelled(api, acme, key: KeyInHand):
    job = stages.quoted(acme)
    cancel(api, job)
    audit = AuditEvent.objects.get(action="job.cancelled")
    assert (audit.organization_id, audit.target, audit.actor_id) == (acme.pk, str(job.pk), key.caller.key_id)
    assert JobEvent.objects.get(job=job).actor == f"key:{key.caller.key_id}"


@pytest.mark.django_db(transaction=True)
def test_waits_for_a_claim_under_way(acme, key: KeyInHand):
    """A worker's claim shares the job's row until it commits; a cancel decides only after that."""
    job = stages.running(acme)
    claiming = connections.create_connection("default")
    try:
        claiming.set_autocommit(False)
        with claiming.cursor() as cursor:
            cursor.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR SHARE", [job.pk])
        with (
            CaptureQueriesContext(connection) as ran,
            pytest.raises(OperationalError, match="lock timeout"),
            transaction.atomic(),
        ):
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '50ms'")
            cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=key.caller.actor)
    finally:
        claiming.rollback()
        claiming.close()
    assert not any("jobs_chunk" in query["sql"] for query in ran)
    cancelled = cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=key.caller.actor)
    assert cancelled.status == "cancelled"


@pytest.mark.django_db(transaction=True)
def test_an_approval_at_the_same_moment_leaves_nothing_held(acme, key: KeyInHand):
    jobs = [stages.quoted(acme) for _ in range(8)]
    before = balances.get(acme.pk)

    def one(call: tuple[str, Job]) -> int:
        name, job = call
        try:
            return client_of(key).post(f"/batch/v1/jobs/{job.pk}/{name}").status_code
        finally:
            connections.close_all()

    calls = [(name, job) for job in jobs for name in ("approve", "cancel")]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, calls))
    assert set(answers[0::2]) <= {200, 409}
    assert set(answers[1::2]) == {200}
    assert set(Job.objects.values_list("status", flat=True)) == {"cancelled"}
    assert balances.get(acme.pk) == before
