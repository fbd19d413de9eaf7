"""Every state a job or an input can be in × every endpoint: the answer that the references document, from these tables.

`200 cancelled` is a code and the status in the body; where a refusal changes the status, it stands behind an arrow.
Bodies are judged by the schemas of reference 003 and by our own.
"""

import uuid
from typing import Any

import pytest

from jobs.lifecycle import Status
from jobs.models import Input
from tests.contract import described
from tests.jobs.api import stages
from tests.jobs.api.states import INPUT_STATES, JOB_STATES
from tests.jobs.api.test_reference_schemas import judged

JOBS = """
job                             | getJob          | approveJob      | cancelJob      | getJobResult  | deleteJobData
submitted                       | 200 submitted   | 409             | 200 cancelled  | 409           | 200 cancelled
estimating                      | 200 estimating  | 409             | 409            | 409           | 202 cancelled
quoted                          | 200 cost_ready  | 200 in_progress | 200 cancelled  | 409           | 200 cancelled
quoted, lapsed                  | 200 cost_ready  | 409 → cancelled | 200 cancelled  | 409           | 200 cancelled
running, nothing in flight      | 200 in_progress | 409             | 200 cancelled  | 409           | 200 cancelled
running, rows in flight         | 200 in_progress | 409             | 200 cancelling | 409           | 202 cancelling
running, rows answered          | 200 in_progress | 409             | 200 cancelling | 409           | 202 cancelling
paused, nothing in flight       | 200 in_progress | 409             | 200 cancelled  | 409           | 200 cancelled
paused, rows in flight          | 200 in_progress | 409             | 200 cancelling | 409           | 202 cancelling
paused, rows answered           | 200 in_progress | 409             | 200 cancelling | 409           | 202 cancelling
cancelling                      | 200 cancelling  | 409             | 200 cancelling | 409           | 202 cancelling
cancelling, to be deleted       | 200 cancelling  | 409             | 200 cancelling | 409           | 202 cancelling
cancelling, once paused         | 200 cancelling  | 409             | 200 cancelling | 409           | 202 cancelling
finalizing                      | 200 finalizing  | 409             | 409            | 409           | 202 finalizing
done                            | 200 done        | 409             | 409            | 200 done      | 200 done
done, past its days             | 200 done        | 409             | 409            | 410           | 200 done
done, to be deleted             | 200 done        | 409             | 409            | 410           | 200 done
done, deleted                   | 200 done        | 409             | 409            | 410           | 200 done
done, every row answered        | 200 done        | 409             | 409            | 200 done      | 200 done
done, its input past its days   | 200 done        | 409             | 409            | 200 done      | 200 done
failed with rows                | 200 failed      | 409             | 409            | 200 failed    | 200 failed
failed without a row            | 200 failed      | 409             | 409            | 409           | 200 failed
failed before rows were counted | 200 failed      | 409             | 409            | 409           | 200 failed
cancelled with rows             | 200 cancelled   | 409             | 409            | 200 cancelled | 200 cancelled
cancelled without a row         | 200 cancelled   | 409             | 409            | 409           | 200 cancelled
cancelled, once paused          | 200 cancelled   | 409             | 409            | 409           | 200 cancelled
cancelled, deleted              | 200 cancelled   | 409             | 409            | 410           | 200 cancelled
"""
INPUTS = """
input                        | getInput            | createJob
awaited                      | 200 awaiting_upload | 409
landed, not looked at yet    | 200 ready           | 201 submitted
never came                   | 200 expired         | 409
to be copied                 | 200 pending         | 409
being copied                 | 200 copying         | 409
not copied                   | 200 failed          | 409
ready                        | 200 ready           | 201 submitted
past its days                | 200 expired         | 409
expired                      | 200 expired         | 409
deleted with another job     | 200 expired         | 409
"""
PATHS = {
    "getJob": ("get", "/jobs/{0}"),
    "approveJob": ("post", "/jobs/{0}/approve"),
    "cancelJob": ("post", "/jobs/{0}/cancel"),
    "getJobResult": ("get", "/jobs/{0}/result"),
    "deleteJobData": ("delete", "/jobs/{0}/data"),
    "getInput": ("get", "/inputs/{0}"),
    "createInput": ("post", "/inputs"),
    "createJob": ("post", "/jobs"),
    "listJobs": ("get", "/jobs"),
    "pauseJob": ("post", "/jobs/{0}/pause"),
    "resumeJob": ("post", "/jobs/{0}/resume"),
    "retryJob": ("post", "/jobs/{0}/retry"),
    "getJobRows": ("get", "/jobs/{0}/rows"),
}


def cells(table: str) -> list[Any]:
    """(state, operation, documented answer) of every cell."""
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return [
        pytest.param(row[0], operation, answer, id=f"{row[0]}-{operation}")
        for row in rows
        for operation, answer in zip(head[1:], row[1:], strict=True)
    ]


def call(api, operation: str, id: object, body: Any = None):
    method, path = PATHS[operation]
    return getattr(api, method)(f"/batch/v1{path.format(id)}", body, format="json")


def assert_documented(operation: str, answer: Any, documented: str) -> str | None:
    """The status the documented answer names, after comparing the rest."""
    code, _, status = documented.partition(" ")
    assert judged(operation, answer) == described.judged(operation, answer) == int(code)
    if code.startswith("2"):
        assert answer.json()["status"] == status
    else:
        assert set(answer.json()) == {"detail"}
    return status.removeprefix("→ ") or None


@pytest.mark.parametrize(("state", "operation", "documented"), cells(JOBS))
def test_a_job_answers_as_documented(api, acme, state, operation, documented):
    job = JOB_STATES[state](acme)
    before = job.status
    answer = call(api, operation, job.pk)
    status = assert_documented(operation, answer, documented)
    job.refresh_from_db()
    assert job.status == (status or before)
    if operation == "deleteJobData":
        assert ("message" in answer.json()) is (answer.status_code == 202) is (job.data_deleted_at is None)
    resent = "false" if answer.status_code == 409 and operation != "getJobResult" else None
    assert answer.get("x-should-retry") == resent


def test_every_status_and_every_operation_has_its_answers(acme):
    assert {row.values[0] for row in cells(JOBS)} == set(JOB_STATES)
    assert {make(acme).status for make in JOB_STATES.values()} == set(Status)
    assert {row.values[0] for row in cells(INPUTS)} == set(INPUT_STATES)
    assert {make(acme).status for make in INPUT_STATES.values()} == set(Input.State)
    ours = {name for name, operation in described.operations().items() if set(operation["tags"]) & {"inputs", "jobs"}}
    assert ours == set(PATHS)


@pytest.mark.parametrize(("state", "operation", "documented"), cells(INPUTS))
def test_an_input_answers_as_documented(api, acme, state, operation, documented):
    source = INPUT_STATES[state](acme)
    answer = call(
        api,
        operation,
        source.pk,
        {"model": stages.MODEL, "input_id": str(source.pk)} if operation == "createJob" else None,
    )
    assert_documented(operation, answer, documented)
    assert source.jobs.filter(status="submitted").exists() is (answer.status_code == 201)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("operation", sorted(name for name, (_, path) in PATHS.items() if path.startswith("/jobs/")))
def test_a_foreign_job_is_unknown_and_stays_as_it_is(api, globex, status, operation):
    foreign = stages.submitted(globex, status=status)
    answers = [call(api, operation, job_id) for job_id in (foreign.pk, uuid.uuid4(), "not-an-id")]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert [answer.json() for answer in answers] == [{"detail": "No such job."}] * 3
    foreign.refresh_from_db()
    assert (foreign.status, foreign.deletion_asked_at) == (status, None)


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete", "options", "trace"])
@pytest.mark.parametrize("path", sorted({path for _, path in PATHS.values()}))
def test_another_method_is_405_in_json(api, acme, path, method):
    taken = {name for name, taken_path in PATHS.values() if taken_path == path}
    answer = api.generic(method.upper(), f"/batch/v1{path.format(stages.quoted(acme).pk)}")
    assert (answer.status_code == 405) is (method not in taken)
    if answer.status_code == 405:
        assert set(answer.json()) == {"detail"}
        assert {name.lower() for name in answer["Allow"].split(", ")} - {"head"} == taken


@pytest.mark.parametrize("operation", ["createInput", "createJob"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"])
def test_a_body_that_is_no_json_is_415_in_json(api, operation, kind):
    answer = api.generic("POST", f"/batch/v1{PATHS[operation][1]}", b"a=1", content_type=kind)
    assert (answer.status_code, set(answer.json())) == (415, {"detail"})


@pytest.mark.parametrize(
    "wish", [{"HTTP_ACCEPT": "text/html"}, {"HTTP_ACCEPT": "nonsense"}, {"data": {"format": "xml"}}]
)
def test_whatever_a_client_would_rather_have_it_gets_json(api, acme, wish):
    job = stages.quoted(acme)
    answer = api.get(f"/batch/v1/jobs/{job.pk}", **wish)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


def test_head_answers_what_get_does_without_the_body(api, acme):
    path = f"/batch/v1/jobs/{stages.quoted(acme).pk}"
    assert (api.head(path).status_code, api.head(path).content) == (200, b"")
