"""Every status × every endpoint: the answer the reference documents (003, getJob to getJobResult)."""

import uuid

import pytest

from jobs.lifecycle import Status
from jobs.models import Job
from tests.jobs.api import stages

#                 approve  cancel  result
ANSWERS = {
    Status.SUBMITTED: (409, 200, 409),
    Status.ESTIMATING: (409, 409, 409),
    Status.COST_READY: (200, 200, 409),
    Status.IN_PROGRESS: (409, 200, 409),
    Status.CANCELLING: (409, 200, 409),
    Status.FINALIZING: (409, 409, 409),
    Status.DONE: (409, 409, 200),
    Status.FAILED: (409, 409, 200),
    Status.CANCELLED: (409, 409, 200),
}
CALLS = ("approve", "cancel", "result")


def make_at(organization, status: Status) -> Job:
    match status:
        case Status.SUBMITTED | Status.ESTIMATING:
            return stages.submitted(organization, status=status)
        case Status.COST_READY:
            return stages.quoted(organization)
        case Status.IN_PROGRESS | Status.CANCELLING | Status.FINALIZING:
            return stages.running(organization, status=status)
        case _:
            return stages.ended(organization, status)


def call(api, job_id, name: str):
    return (api.get if name == "result" else api.post)(f"/batch/v1/jobs/{job_id}/{name}")


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize(("position", "name"), list(enumerate(CALLS)))
def test_each_call_answers_as_documented(api, acme, status, position, name):
    job = make_at(acme, status)
    answer = call(api, job.pk, name)
    assert answer.status_code == ANSWERS[status][position]
    job.refresh_from_db()
    if answer.status_code == 409:
        assert job.status == status
        assert status in answer.json()["detail"] or status == Status.ESTIMATING
    assert answer.get("x-should-retry") == ("false" if answer.status_code == 409 and name != "result" else None)


@pytest.mark.parametrize("status", Status)
def test_every_status_can_be_polled(api, acme, status):
    answer = api.get(f"/batch/v1/jobs/{make_at(acme, status).pk}")
    assert (answer.status_code, answer.json()["status"]) == (200, status)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("name", CALLS)
def test_a_foreign_job_is_unknown_and_stays_as_it_is(api, globex, status, name):
    foreign = stages.submitted(globex, status=status)
    answers = [call(api, job_id, name) for job_id in (foreign.pk, uuid.uuid4(), "not-an-id")]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert [answer.json() for answer in answers] == [{"detail": "No such job."}] * 3
    foreign.refresh_from_db()
    assert foreign.status == status
