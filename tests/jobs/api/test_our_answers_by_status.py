"""Every state a job can be in × the operations that the references lack: the answer of deviations.md, from this table.

Bodies are judged by our own API description.
"""

import pytest
from rest_framework.test import APIClient

from accounts.models import Organization
from anex.core import clock
from jobs.lifecycle import Status
from jobs.models import Job
from tests.contract import described
from tests.factories import make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of
from tests.jobs.api.states import JOB_STATES
from tests.jobs.api.test_answers_by_status import call, cells

JOBS = """
job                             | pauseJob        | resumeJob       | retryJob
submitted                       | 409             | 409             | 409
estimating                      | 409             | 409             | 409
quoted                          | 409             | 409             | 409
quoted, lapsed                  | 409             | 409             | 409
running, nothing in flight      | 200 in_progress | 200 in_progress | 409
running, rows in flight         | 200 in_progress | 200 in_progress | 409
running, rows answered          | 200 in_progress | 200 in_progress | 409
paused, nothing in flight       | 200 in_progress | 200 in_progress | 409
paused, rows in flight          | 200 in_progress | 200 in_progress | 409
paused, rows answered           | 200 in_progress | 200 in_progress | 409
cancelling                      | 409             | 409             | 409
cancelling, to be deleted       | 409             | 409             | 409
cancelling, once paused         | 409             | 409             | 409
finalizing                      | 409             | 409             | 409
done                            | 409             | 409             | 201 submitted
done, past its days             | 409             | 409             | 410
done, to be deleted             | 409             | 409             | 410
done, deleted                   | 409             | 409             | 410
done, every row answered        | 409             | 409             | 409
done, its input past its days   | 409             | 409             | 410
failed with rows                | 409             | 409             | 201 submitted
failed without a row            | 409             | 409             | 201 submitted
failed before rows were counted | 409             | 409             | 409
cancelled with rows             | 409             | 409             | 201 submitted
cancelled without a row         | 409             | 409             | 201 submitted
cancelled, once paused          | 409             | 409             | 201 submitted
cancelled, deleted              | 409             | 409             | 410
"""
FROM_THE_STORE = ("failure_reason", "failure_errors", "response_format")


def test_every_state_is_in_the_table():
    assert {row.values[0] for row in cells(JOBS)} == set(JOB_STATES)


@pytest.mark.parametrize(("state", "operation", "documented"), cells(JOBS))
def test_a_job_answers_as_documented(api, acme, state, operation, documented):
    job = JOB_STATES[state](acme)
    job.refresh_from_db()
    before = (job.status, job.paused)
    answer = call(api, operation, job.pk)
    code, _, status = documented.partition(" ")
    assert described.judged(operation, answer) == int(code)
    assert answer.get("x-should-retry") == ("false" if code == "409" else None)
    body = answer.json()
    paused = operation == "pauseJob"
    if code == "200":
        assert body == {"id": str(job.pk), "status": status, "paused": paused}
    elif code == "201":
        assert body == {"id": str(Job.objects.get(retry_of=job).pk), "status": status}
    else:
        assert set(body) == {"detail"}
    assert Job.objects.filter(retry_of=job).exists() is (code == "201")
    job.refresh_from_db()
    assert (job.status, job.paused) == ((status, paused) if code == "200" else before)


@pytest.mark.parametrize("state", JOB_STATES)
def test_a_job_is_listed_as_it_is_polled(api, acme, state):
    job = JOB_STATES[state](acme)
    answer = call(api, "listJobs", "", {"status": ",".join(Status)})
    assert described.judged("listJobs", answer) == 200
    polled = call(api, "getJob", job.pk)
    assert described.judged("getJob", polled) == 200
    whole = {name: value for name, value in polled.json().items() if name not in FROM_THE_STORE}
    assert answer.json() == {"data": [whole], "has_more": False, "next_cursor": None}
    others = ",".join(status for status in Status if status != job.status)
    assert call(api, "listJobs", "", {"status": others}).json()["data"] == []


@pytest.mark.parametrize("operation", ["listJobs", "pauseJob", "resumeJob", "retryJob"])
def test_a_caller_who_may_not_is_refused(globex, operation):
    suspended, stranger, nobody = client_of(make_key(globex)), APIClient(), APIClient()
    stranger.credentials(HTTP_AUTHORIZATION="Bearer sk-unknown")
    Organization.objects.filter(pk=globex.pk).update(suspended_at=clock.now())
    for client, status in ((suspended, 403), (stranger, 401), (nobody, 422)):
        assert described.judged(operation, call(client, operation, globex.pk)) == status


def test_either_api_pauses_resumes_and_lists_a_job_of_the_other_region(api, acme):
    job = stages.running(acme, region="eu")
    assert call(api, "pauseJob", job.pk).json()["paused"]
    assert not call(api, "resumeJob", job.pk).json()["paused"]
    assert [listed["data_residency"] for listed in call(api, "listJobs", "").json()["data"]] == ["eu"]


def test_a_job_of_the_other_region_is_retried_there(api, acme, settings):
    settings.ANEX_OTHER_REGION_URL = "https://api-eu.example"
    answer = call(api, "retryJob", stages.ended(acme, region="eu").pk)
    assert described.judged("retryJob", answer) == 421
    assert (answer.json()["residency"], answer.json()["api"]) == ("eu", "https://api-eu.example")
