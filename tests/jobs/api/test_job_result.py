"""GET /jobs/{id}/result (reference 001, download the result; reference 003, getJobResult)."""

from datetime import timedelta

import pytest

from anex.core import clock
from jobs.lifecycle import Status
from tests.jobs.api import stages


def fetch(api, job):
    return api.get(f"/batch/v1/jobs/{job.pk}/result")


def test_answers_a_link_valid_for_an_hour(api, acme):
    job = stages.ended(acme)
    answer = fetch(api, job)
    body = answer.json()
    assert answer.status_code == 200
    assert body.pop("result_url").startswith("http")
    assert body == {"id": str(job.pk), "status": "done", "expires_in": 3600, "partial": False, "row_count": 99}


def test_the_link_names_the_committed_object_and_a_file_name_of_the_job(api, acme):
    job = stages.ended(acme)
    url = fetch(api, job).json()["result_url"]
    assert job.result_key in url
    assert f"{job.pk}.jsonl" in url


def test_a_parquet_result_is_downloaded_as_one(api, acme):
    job = stages.ended(acme, result_key="jobs/tests/result.parquet")
    assert f"{job.pk}.parquet" in fetch(api, job).json()["result_url"]


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_what_a_stopped_job_finished_comes_as_partial(api, acme, status):
    body = fetch(api, stages.ended(acme, status)).json()
    assert (body["status"], body["partial"]) == (status, True)


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED, Status.DONE])
def test_nothing_to_deliver_is_409(api, acme, status):
    assert fetch(api, stages.ended(acme, status, result_key="", result_rows=None)).status_code == 409


def test_a_result_past_its_date_is_410(api, acme):
    assert fetch(api, stages.ended(acme, data_expires_at=clock.now())).status_code == 410


@pytest.mark.parametrize("result_key", ["", "jobs/tests/result.jsonl"])
def test_a_deleted_result_is_410(api, acme, result_key):
    assert fetch(api, stages.ended(acme, data_deleted_at=clock.now(), result_key=result_key)).status_code == 410


def test_a_link_never_outlives_the_result(api, acme):
    job = stages.ended(acme, data_expires_at=clock.now() + timedelta(minutes=10))
    assert 0 < fetch(api, job).json()["expires_in"] <= 600
