"""DELETE /jobs/{id}/data (reference 001, delete a job's data; reference 003, deleteJobData)."""

from datetime import timedelta

import pytest

from accounts.models import AuditEvent
from anex.core import clock
from billing import price_cards
from billing.selectors import balances
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Chunk, JobEvent
from jobs.run.control import run_control
from jobs.services import erasing, inputs
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable
from tests.factories import make_input
from tests.jobs import stored
from tests.jobs.api import stages
from tests.jobs.run import driver

LOST = "This job's result has been deleted."


def delete(api, job):
    answer = api.delete(f"/batch/v1/jobs/{job.pk}/data")
    job.refresh_from_db()
    return answer


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_a_finished_job_is_purged_at_once(api, acme, status):
    job, other = stored.ended(acme, status), stored.ended(acme)
    kept = [key for key in stored.left() if str(job.pk) not in key and key != job.input.key]
    answer = delete(api, job)
    body = answer.json()
    assert (answer.status_code, body["id"], body["status"]) == (200, str(job.pk), status)
    assert body["data_deleted_at"] == api.get(f"/batch/v1/jobs/{job.pk}").json()["data_deleted_at"] is not None
    assert set(body) == {"id", "status", "data_deleted_at"}
    assert stored.left() == kept
    assert other.input.key in kept


def test_the_record_stays_and_the_result_is_gone(api, acme):
    job = stored.ended(acme, Status.FAILED, failure_code="internal_error", has_response_format=True)
    delete(api, job)
    seen = api.get(f"/batch/v1/jobs/{job.pk}").json()
    assert (seen["status"], seen["success_rows"], seen["charge_cents"]) == ("failed", 90, 41)
    assert (seen["failure_code"], seen["failure_reason"], seen["response_format"]) == ("internal_error", None, None)
    gone = api.get(f"/batch/v1/jobs/{job.pk}/result")
    assert (gone.status_code, gone.json()) == (410, {"detail": LOST})


def test_repeating_it_answers_the_first_time_and_records_one_wish(api, acme):
    job = stored.ended(acme)
    first = delete(api, job).json()
    again = delete(api, job)
    assert (again.status_code, again.json()) == (200, first)
    assert AuditEvent.objects.get(action="job.data_deleted").target == str(job.pk)


@pytest.mark.parametrize("make", [stages.submitted, stages.quoted, stages.running])
def test_a_job_nobody_works_on_is_stopped_and_purged_in_one_call(api, acme, make):
    job = make(acme)
    store().put(job.input.key, b"rows\n")
    answer = delete(api, job)
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert (job.stop_reason, job.charge_cents, balances.get(acme.pk).held_nano) == ("cancelled", 0, 0)
    assert stored.left() == []


def test_a_job_being_estimated_is_stopped_and_purged_by_the_next_sweep(api, acme):
    job = stages.submitted(acme, status=Status.ESTIMATING)
    store().put(job.input.key, b"rows\n")
    answer = delete(api, job)
    assert (answer.status_code, answer.json()["status"], answer.json()["data_deleted_at"]) == (202, "cancelled", None)
    assert "deleted" in answer.json()["message"]
    assert not job.chunks.filter(closed=False).exists()
    assert erasing.erase_due(clock.now()) == 1
    assert stored.left() == []


def test_a_job_with_rows_in_flight_is_purged_once_it_has_stopped(api, acme):
    job, live = stages.running(acme, prices=price_cards.current(stages.MODEL).frozen()), stages.worker()
    stages.claim(job, by=live)
    store().put(job.input.key, b"rows\n")
    store().put(stages.part(job).key, b"".join(b'%d\t{"custom_id":"%d"}\n' % (row, row) for row in range(10)))
    for _ in range(2):
        answer = delete(api, job)
        body = answer.json()
        assert (answer.status_code, body["status"], body["data_deleted_at"]) == (202, "cancelling", None)
        assert body["message"]
    assert erasing.erase_due(clock.now()) == 0
    live.delete()
    finalize = driver.claim_one(driver.HandLease(), "finalize")
    run_control(finalize)
    job.refresh_from_db()
    assert (job.status, job.result_rows, job.charge_cents > 0) == ("cancelled", 10, True)
    assert job.data_deleted_at is not None
    assert not [key for key in stored.left() if str(job.pk) in key or key == job.input.key]
    assert delete(api, job).status_code == 200
    assert JobEvent.objects.filter(job=job, type="cancelled").count() == 1


def test_a_finalizing_job_ends_as_it_would_and_is_purged_then(api, acme):
    job = stages.running(acme, status=Status.FINALIZING, prices=price_cards.current(stages.MODEL).frozen())
    Chunk.objects.create(job=job, kind=Chunk.Kind.FINALIZE, index=0)
    assert delete(api, job).status_code == 202
    run_control(driver.claim_one(driver.HandLease(), "finalize"))
    job.refresh_from_db()
    assert (job.status, job.data_deleted_at is not None) == ("done", True)


def test_the_result_of_a_stopped_job_is_out_of_reach_before_it_is_purged(api, acme):
    job = stored.ended(acme, Status.CANCELLED, deletion_asked_at=clock.now())
    assert api.get(f"/batch/v1/jobs/{job.pk}/result").status_code == 410


def test_a_store_that_is_away_is_503_and_the_sweep_deletes(api, acme, monkeypatch):
    job = stored.ended(acme)
    with monkeypatch.context() as patch:
        patch.setattr("jobs.services.erasing._empty", away)
        answer = delete(api, job)
    assert (answer.status_code, job.data_deleted_at, answer["Retry-After"]) == (503, None, "1")
    assert api.get(f"/batch/v1/jobs/{job.pk}/result").status_code == 410
    assert erasing.erase_due(clock.now()) == 1
    assert stored.left() == []


def away(job):
    raise StoreUnavailable("The store cannot be reached.")


def test_an_input_another_job_reads_stays_until_that_job_is_over(api, acme):
    source = make_input(acme, upload_expires_at=None)
    job, other = stored.ended(acme, input=source), stages.running(acme, input=source)
    delete(api, job)
    assert stored.left() == [source.key]
    submit = {"model": stages.MODEL, "input_id": str(source.pk)}
    assert api.post("/batch/v1/jobs", submit, format="json").status_code == 409
    assert delete(api, other).status_code == 200
    assert stored.left() == []


def test_an_input_other_jobs_have_read_goes_with_the_first_deletion(api, acme):
    source = make_input(acme)
    job, other = stored.ended(acme, input=source), stored.ended(acme, input=source)
    delete(api, job)
    assert stored.left() == sorted(key for key in stored.left() if key.startswith(keys.job_prefix(other.pk)))


@pytest.mark.parametrize("job_id", ["not-an-id", "00000000-0000-4000-8000-000000000000", None])
def test_unknown_and_foreign_jobs_look_alike_and_stay(api, globex, job_id):
    foreign = stored.ended(globex)
    answer = api.delete(f"/batch/v1/jobs/{job_id or foreign.pk}/data")
    assert (answer.status_code, answer.json()) == (404, {"detail": "No such job."})
    foreign.refresh_from_db()
    assert (foreign.deletion_asked_at, foreign.data_deleted_at) == (None, None)


def test_the_data_of_a_job_past_its_days_has_its_own_date(api, acme):
    job = stored.ended(acme, data_expires_at=clock.now() - timedelta(days=1))
    erasing.erase_due(clock.now())
    job.refresh_from_db()
    assert delete(api, job).json()["data_deleted_at"].startswith(job.data_deleted_at.strftime("%Y-%m-%dT%H:%M:%S"))


def test_a_submit_that_saw_the_input_before_it_was_deleted_makes_no_job(api, acme, monkeypatch):
    source = make_input(acme)
    job, seen = stored.ended(acme, input=source), inputs.for_job

    def seen_then_deleted(**named):
        found = seen(**named)
        delete(api, job)
        return found

    monkeypatch.setattr(inputs, "for_job", seen_then_deleted)
    answer = api.post("/batch/v1/jobs", {"model": stages.MODEL, "input_id": str(source.pk)}, format="json")
    assert (answer.status_code, source.jobs.count()) == (409, 1)
