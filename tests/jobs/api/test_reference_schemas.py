"""Real answers of every kind, judged by the schemas of reference 003 (its schemas without prose).

What the reference does not list is written down here, and in docs/decisions/deviations.md.
"""

import json
from typing import Any

import jsonschema_rs
import pytest
from rest_framework.test import APIClient

from accounts.models import Organization
from anex.core import clock
from jobs.lifecycle import Status
from jobs.models import Input
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable
from tests.contract.reference import ANSWERS, DOCUMENT, SCHEMAS
from tests.factories import make_input, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

ERROR = {"$ref": "#/components/schemas/Error"}
# A store that is away is 503 wherever it is asked; a missing Authorization header is 422 (reference 001, errors).
AWAY = {"getInput", "getJob", "getJobResult"}
MISSING = "00000000-0000-4000-8000-000000000000"


def validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": DOCUMENT["components"]}
    return jsonschema_rs.validator_for(whole | schema, validate_formats=True, offline=True)


def judged(operation: str, answer: Any) -> int:
    """The status of an answer that the reference allows, with the body it allows for it."""
    status, body = answer.status_code, json.loads(answer.content)
    beyond = status == 422 or (status == 503 and operation in AWAY and "detail" in body)
    schema = ERROR if beyond else ANSWERS[operation][str(status)]
    validator(schema).validate(body)
    assert answer["Content-Type"] == "application/json"
    return int(status)


def at(organization: Organization, status: Status) -> Any:
    """A job in a status, with its options set where a test can tell them from null."""
    options = {"temperature": 0.5, "reasoning": False, "reasoning_budget": 0, "requested_max_output_tokens": 600}
    match status:
        case Status.SUBMITTED | Status.ESTIMATING:
            return stages.submitted(organization, status=status, **options)
        case Status.COST_READY:
            return stages.quoted(organization, **options)
        case Status.IN_PROGRESS | Status.CANCELLING | Status.FINALIZING:
            return stages.running(organization, status=status, **options)
        case _:
            return stages.ended(organization, status, **options)


@pytest.mark.parametrize("status", Status)
def test_a_job_in_every_status_fits_the_schema(api, acme, status):
    assert judged("getJob", api.get(f"/batch/v1/jobs/{at(acme, status).pk}")) == 200


def test_a_job_with_every_optional_field_fits_the_schema(api, acme):
    job = stages.ended(
        acme,
        Status.FAILED,
        failure_code="invalid_input",
        has_response_format=True,
        reasoning=True,
        reasoning_effort="low",
        temperature=2.0,
        data_deleted_at=clock.now(),
    )
    assert judged("getJob", api.get(f"/batch/v1/jobs/{job.pk}")) == 200
    job.data_deleted_at = None
    job.save()
    store().put(keys.failure(job.pk), b'{"reason": "Line 3: no.", "errors": []}')
    store().put(keys.response_format(job.pk), b'{"type": "json_object"}')
    answer = api.get(f"/batch/v1/jobs/{job.pk}")
    assert judged("getJob", answer) == 200
    assert None not in (answer.json()["failure_reason"], answer.json()["response_format"])


def test_every_field_of_the_reference_is_answered(api, acme):
    answer = api.get(f"/batch/v1/jobs/{stages.quoted(acme).pk}").json()
    assert set(SCHEMAS["Job"]["properties"]) <= set(answer)
    ended = api.get(f"/batch/v1/jobs/{stages.ended(acme).pk}/result").json()
    assert set(SCHEMAS["JobResult"]["properties"]) == set(ended)
    created = api.post("/batch/v1/inputs", {"format": "jsonl"}, format="json").json()
    assert set(SCHEMAS["Input"]["properties"]) - {"callback_secret"} == set(created)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize(
    ("operation", "name"), [("approveJob", "approve"), ("cancelJob", "cancel"), ("getJobResult", "result")]
)
def test_what_moves_a_job_answers_as_the_schema_says(api, acme, status, operation, name):
    path = f"/batch/v1/jobs/{at(acme, status).pk}/{name}"
    answer = api.get(path) if name == "result" else api.post(path)
    assert judged(operation, answer) in (200, 409)
    if answer.status_code == 200 and name != "result":
        assert set(answer.json()) == {"id", "status"}


def test_inputs_of_every_status_fit_the_schema(api, acme):
    assert judged("createInput", api.post("/batch/v1/inputs", {"format": "jsonl"}, format="json")) == 201
    for state in Input.State.values:
        source = make_input(acme, status=state, upload_expires_at=clock.now(), expires_at=clock.now())
        assert judged("getInput", api.get(f"/batch/v1/inputs/{source.pk}")) == 200
    assert set(Input.State.values) <= set(SCHEMAS["Input"]["properties"]["status"]["enum"])


@pytest.mark.parametrize(
    ("operation", "method", "path", "body", "status"),
    [
        ("createInput", "post", "/inputs", {}, 400),
        ("createInput", "post", "/inputs", {"format": "csv"}, 422),
        ("createInput", "post", "/inputs", {"format": "jsonl", "callback_url": "https://example.com/"}, 400),
        ("createInput", "post", "/inputs", {"format": "jsonl", "data_residency": "eu"}, 403),
        ("getInput", "get", f"/inputs/{MISSING}", None, 404),
        ("createJob", "post", "/jobs", {}, 422),
        ("createJob", "post", "/jobs", {"model": stages.MODEL, "input_id": MISSING}, 404),
        (
            *("createJob", "post", "/jobs"),
            {"model": stages.MODEL, "input_id": MISSING, "response_format": {"type": "yaml"}},
            400,
        ),
        (
            *("createJob", "post", "/jobs"),
            {"model": stages.MODEL, "input_id": MISSING, "data_residency": "eu"},
            403,
        ),
        ("getJob", "get", f"/jobs/{MISSING}", None, 404),
        ("approveJob", "post", f"/jobs/{MISSING}/approve", None, 404),
        ("cancelJob", "post", f"/jobs/{MISSING}/cancel", None, 404),
        ("getJobResult", "get", f"/jobs/{MISSING}/result", None, 404),
        ("deleteJobData", "delete", f"/jobs/{MISSING}/data", None, 404),
    ],
)
def test_refusals_have_the_documented_shape(api, operation, method, path, body, status):
    answer = getattr(api, method)(f"/batch/v1{path}", body, format="json")
    assert judged(operation, answer) == status


EVERY = [
    ("createInput", "post", "/inputs"),
    ("getInput", "get", f"/inputs/{MISSING}"),
    ("createJob", "post", "/jobs"),
    ("getJob", "get", f"/jobs/{MISSING}"),
    ("approveJob", "post", f"/jobs/{MISSING}/approve"),
    ("cancelJob", "post", f"/jobs/{MISSING}/cancel"),
    ("getJobResult", "get", f"/jobs/{MISSING}/result"),
    ("deleteJobData", "delete", f"/jobs/{MISSING}/data"),
]


@pytest.mark.parametrize(("operation", "method", "path"), EVERY)
def test_a_caller_who_may_not_is_told_in_the_documented_shape(globex, operation, method, path):
    suspended, stranger, nobody = client_of(make_key(globex)), APIClient(), APIClient()
    stranger.credentials(HTTP_AUTHORIZATION="Bearer sk-unknown")
    Organization.objects.filter(pk=globex.pk).update(suspended_at=clock.now())
    for client, status in ((suspended, 403), (stranger, 401), (nobody, 422)):
        assert judged(operation, getattr(client, method)(f"/batch/v1{path}", format="json")) == status


def test_money_that_is_missing_is_402_in_the_documented_shape(globex):
    client = client_of(make_key(globex))
    job = stages.quoted(globex)
    submit = {"model": stages.MODEL, "input_id": str(make_input(globex).pk)}
    assert judged("createInput", client.post("/batch/v1/inputs", {"format": "jsonl"}, format="json")) == 402
    assert judged("createJob", client.post("/batch/v1/jobs", submit, format="json")) == 402
    assert judged("approveJob", client.post(f"/batch/v1/jobs/{job.pk}/approve")) == 402


def test_the_queue_the_wait_and_the_lost_result_have_the_documented_shape(api, acme):
    gone = stages.ended(acme, data_deleted_at=clock.now())
    assert judged("getJobResult", api.get(f"/batch/v1/jobs/{gone.pk}/result")) == 410
    waiting = make_input(acme, status=Input.State.AWAITING_UPLOAD, upload_expires_at=clock.now(), size_bytes=None)
    submit = {"model": stages.MODEL, "input_id": str(waiting.pk)}
    assert judged("createJob", api.post("/batch/v1/jobs", submit, format="json")) == 409
    for _ in range(10):
        stages.quoted(acme)
    submit["input_id"] = str(make_input(acme).pk)
    full = api.post("/batch/v1/jobs", submit, format="json")
    assert judged("createJob", full) == 429
    assert full["Retry-After"].isdigit()


def test_a_store_that_is_away_is_503_in_the_documented_shape(api, acme, monkeypatch):
    class Away:
        bucket = "away"

        def __getattr__(self, name: str) -> Any:
            raise StoreUnavailable("The store cannot be reached.")

    job = stages.ended(acme, Status.FAILED, failure_code="invalid_input")
    waiting = make_input(acme, status=Input.State.AWAITING_UPLOAD, upload_expires_at=clock.now(), size_bytes=None)
    for module in ("jobs.services.inputs", "jobs.selectors.inputs", "jobs.selectors.contents", "jobs.services.results"):
        monkeypatch.setattr(f"{module}.store", lambda region=None: Away())
    assert judged("createInput", api.post("/batch/v1/inputs", {"format": "jsonl"}, format="json")) == 503
    assert judged("getInput", api.get(f"/batch/v1/inputs/{waiting.pk}")) == 503
    assert judged("getJob", api.get(f"/batch/v1/jobs/{job.pk}")) == 503
    assert judged("getJobResult", api.get(f"/batch/v1/jobs/{job.pk}/result")) == 503


VALUES: dict[str, list[Any]] = {
    "input_id": ["x", 5, [], True],
    "model": [7, ["a"], {}, True],
    "max_output_tokens": [0, 1, 512, 32_769, 1.5, "5", True, []],
    "max_tokens": [0, 1, -1, "5", False],
    "reasoning": [False, 0, "false", []],
    "reasoning_budget": [0, -1, 32_769, "0", True],
    "reasoning_effort": ["", 5, []],
    "temperature": [0, 2, 1.25, -0.1, 2.1, "1", True],
    "video_fps": [0, -1, 60.5, "1", True],
    "response_format": [{"type": "text"}, [], "json_object", 5],
    "dimensions": [31, 0, "32", 33.5, True],
    "data_residency": ["world", "mars", 5, True],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in VALUES for value in VALUES[name]])
def test_a_field_is_taken_exactly_where_the_request_schema_takes_it(api, acme, name, value):
    body = {"model": stages.MODEL, "input_id": str(make_input(acme).pk), name: value}
    fits = validator(SCHEMAS["CreateJobRequest"]).is_valid(body)
    assert (judged("createJob", api.post("/batch/v1/jobs", body, format="json")) == 201) is fits
