"""POST /jobs (reference 001, submit a job; reference 003, createJob)."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from django.db import connections
from rest_framework.test import APIClient

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from billing import price_cards
from inference.backends import registry
from jobs.lifecycle import Status
from jobs.models import Chunk, Input, Job, JobEvent
from jobs.services import doorbell, inputs
from jobs.storage import keys, store
from tests.factories import KeyInHand, make_input, make_key, make_organization
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

SCHEMA = {"type": "json_schema", "json_schema": {"name": "colour", "schema": {"type": "object"}}}


@pytest.fixture
def ready(acme: Organization) -> Input:
    return make_input(acme)


def submit(api: APIClient, source: Input | None = None, **fields):
    body = {"model": stages.MODEL} | ({"input_id": str(source.pk)} if source else {}) | fields
    return api.post("/batch/v1/jobs", body, format="json")


def test_answers_id_and_status_only(api, ready):
    answer = submit(api, ready)
    job = Job.objects.get()
    assert answer.status_code == 201
    assert answer.json() == {"id": str(job.pk), "status": "submitted"}


def test_keeps_the_options_as_submitted(api, ready, key: KeyInHand):
    submit(api, ready, max_output_tokens=200, temperature=0.5, reasoning=False, reasoning_budget=0)
    job = Job.objects.get()
    assert (job.requested_max_output_tokens, job.temperature) == (200, 0.5)
    assert (job.reasoning, job.reasoning_budget, job.reasoning_effort) == (False, None, "")
    assert (job.region, job.task_type, job.model_id) == ("world", "chat", stages.MODEL)
    assert job.created_by == f"key:{key.caller.key_id}"


def test_window_and_priority_are_kept_and_shown(api, ready, monkeypatch):
    plain, urgent = submit(api, ready), submit(api, ready, completion_window="1h", priority=9)
    shown = [api.get(f"/batch/v1/jobs/{answer.json()['id']}").json() for answer in (plain, urgent)]
    names = ("completion_window", "priority", "price_percent")
    assert [tuple(job[name] for name in names) for job in shown] == [("24h", 5, None), ("1h", 9, None)]
    assert set(Job.objects.values_list("share", flat=True)) == {1, 4}
    for field in ({"completion_window": "2h"}, {"priority": 10}, {"priority": -1}, {"priority": "5"}):
        answer = submit(api, ready, **field)
        assert (answer.status_code, next(iter(field)) in str(answer.json())) == (422, True)
    card = msgspec.structs.replace(price_cards.current(stages.MODEL), windows={})
    monkeypatch.setattr("billing.price_cards.current", lambda _: card)
    refused = submit(api, ready, completion_window="1h")
    assert (refused.status_code, "not offered with completion_window 1h" in str(refused.json())) == (422, True)


def test_decision_models_take_no_parquet(api, acme):
    registry.configure(
        model_id="scripted-decide", base_url="http://127.0.0.1:9/v1", served_name="scripted", actor=system("tests")
    )
    source = make_input(acme, format="parquet")
    answer = submit(api, source, model="scripted-decide")
    assert answer.status_code == 422
    assert "model 'scripted-decide' takes JSONL input only" in str(answer.json()["detail"])
    assert submit(api, source).status_code == 201
    assert api.get(f"/batch/v1/jobs/{Job.objects.get().pk}").json()["format"] == "parquet"


def test_leaves_one_chunk_that_checks_the_whole_file(api, ready):
    submit(api, ready)
    chunk = Chunk.objects.get()
    assert (chunk.kind, chunk.index, chunk.byte_start, chunk.byte_end) == ("validate", 0, 0, ready.size_bytes)
    assert not chunk.closed


def test_writes_its_event_and_rings(api, ready, key: KeyInHand, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as callbacks:
        submit(api, ready)
    assert callbacks == [doorbell._send]
    event = JobEvent.objects.get()
    assert (event.type, event.actor) == ("submitted", f"key:{key.caller.key_id}")


def test_takes_the_uri_of_the_input_instead_of_its_id(api, ready):
    uri = f"s3://{store().bucket}/{ready.key}"
    assert submit(api, input_s3_uri=uri).status_code == 201
    assert Job.objects.get().input_id == ready.pk


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 200},
        {"max_tokens": 200, "max_output_tokens": 200},
        {"max_tokens": None, "max_output_tokens": 200},
    ],
)
def test_max_tokens_is_the_former_name_of_max_output_tokens(api, ready, fields):
    assert submit(api, ready, **fields).status_code == 201
    assert Job.objects.get().requested_max_output_tokens == 200


def test_null_counts_as_left_out_and_unknown_fields_are_ignored(api, ready):
    fields = dict.fromkeys(["max_output_tokens", "temperature", "video_fps", "response_format", "input_column"])
    assert submit(api, ready, **fields, colour="red").status_code == 201


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"model": None}, "model"),
        ({"model": "gpt-9"}, "unknown model 'gpt-9'"),
        ({"model": "qwen3-embedding-8b"}, "qwen3-embedding-8b"),
        ({"model": 7}, "model"),
        ({"input_s3_uri": "s3://bucket/key"}, "exactly one of input_id and input_s3_uri"),
        ({"input_id": None}, "exactly one of input_id and input_s3_uri"),
        ({"input_id": 12}, "input_id"),
        ({"input_id": "not-an-id"}, "input_id"),
        ({"max_tokens": 5, "max_output_tokens": 6}, "max_tokens"),
        ({"max_output_tokens": "600"}, "max_output_tokens"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": 32_769}, "max_output_tokens"),
        ({"max_output_tokens": True}, "max_output_tokens"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"reasoning": "true"}, "reasoning"),
        ({"reasoning": 1}, "reasoning"),
        ({"reasoning_budget": -1}, "reasoning_budget"),
        ({"reasoning_effort": ""}, "reasoning_effort"),
        ({"reasoning_effort": "low"}, "effort levels"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": 10**400}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"response_format": "json_object"}, "response_format"),
        ({"dimensions": 64}, "dimensions"),
        ({"video_fps": 1}, f"model '{stages.MODEL}' does not support video_fps"),
        ({"model": "qwen3.8-27b", "video_fps": 25}, "video_fps 25 is above the 20 fps ceiling of qwen3.8-27b"),
        ({"instruction_column": "q"}, "instruction_column"),
        ({"input_column": "q"}, "input_column"),
        ({"data_residency": "mars"}, "data_residency"),
    ],
)
def test_what_does_not_fit_is_422_and_creates_nothing(api, ready, fields, named):
    answer = submit(api, ready, **fields)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert not Job.objects.exists()


def test_a_model_without_a_server_in_the_region_is_unknown(api, ready):
    registry.switch(enabled=False, model_id=stages.MODEL, actor=stages.BUILDER)
    assert submit(api, ready).status_code == 422
    registry.remove(model_id=stages.MODEL, actor=stages.BUILDER)
    assert submit(api, ready).json() == {"detail": f"unknown model '{stages.MODEL}'"}
    registered = {"model_id": stages.MODEL, "base_url": "http://127.0.0.1:9/v1", "served_name": "x"}
    registry.register(**registered, region="eu", actor=stages.BUILDER)
    assert submit(api, ready).status_code == 422
    registry.withdraw(backend_id=registry.register(**registered, actor=stages.BUILDER), actor=stages.BUILDER)
    assert submit(api, ready).status_code == 201


@pytest.mark.parametrize("body", ["[]", '"text"', "null", "7", "{", "[" * 100_000, "\xff"])
def test_a_body_that_is_no_object_is_422(api, body):
    answer = api.generic("POST", "/batch/v1/jobs", body.encode("latin-1"), content_type="application/json")
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


def test_an_empty_balance_is_402_before_the_input_is_looked_at(globex):
    answer = submit(client_of(make_key(globex)), input_id=str(uuid.uuid4()))
    assert answer.status_code == 402
    assert answer["x-should-retry"] == "false"


def test_a_foreign_input_is_404_like_an_unknown_one(api, globex):
    foreign = submit(api, make_input(globex))
    unknown = submit(api, input_id=str(uuid.uuid4()))
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.json() == unknown.json()


def test_an_input_that_is_not_ready_is_409(api, acme):
    waiting = make_input(acme, status=Input.State.AWAITING_UPLOAD, upload_expires_at=clock.now(), size_bytes=None)
    answer = submit(api, waiting)
    assert answer.status_code == 409
    assert answer["x-should-retry"] == "false"


def test_an_upload_that_just_landed_needs_no_poll_before(api, acme, key: KeyInHand):
    source, _ = inputs.create_upload(organization_id=acme.pk, format="jsonl", actor=key.caller.actor)
    assert submit(api, source).status_code == 409
    store().put(source.key, b'{"custom_id":"a"}\n')
    assert submit(api, source).status_code == 201
    assert Chunk.objects.get().byte_end == 18


def test_a_file_over_the_cap_is_400(api, acme):
    assert submit(api, make_input(acme, size_bytes=1024**3 + 1)).status_code == 400
    assert submit(api, make_input(acme, size_bytes=1024**3)).status_code == 201


def test_eu_residency_is_403_and_world_is_taken(api, ready):
    answer = submit(api, ready, data_residency="eu")
    assert answer.status_code == 403
    assert answer.json() == {"detail": "EU data routing is not enabled for this organization. Contact us to enable it."}
    assert submit(api, ready, data_residency="world").status_code == 201


def test_the_response_format_lives_in_the_store_only(api, ready):
    assert submit(api, ready, response_format=SCHEMA).status_code == 201
    job = Job.objects.get()
    assert job.has_response_format
    assert json.loads(store().read(keys.response_format(job.pk))) == SCHEMA
    assert "colour" not in str(Job.objects.values().get())


@pytest.mark.parametrize(
    "malformed",
    [
        {},
        {"type": "xml"},
        {"type": "json_schema"},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "sausage"}}},
    ],
)
def test_a_malformed_response_format_is_400(api, ready, malformed):
    assert submit(api, ready, response_format=malformed).status_code == 400
    assert not Job.objects.exists()


@pytest.mark.parametrize("value", [r'"\ud800"', "[" * 900 + "]" * 900])
@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_a_response_format_that_cannot_be_kept_is_refused(api, ready, value, kind):
    schema = f'{{"type": "{kind}", "json_schema": {{"name": "x", "schema": {{"const": {value}}}}}}}'
    body = f'{{"model": "{stages.MODEL}", "input_id": "{ready.pk}", "response_format": {schema}}}'
    answer = api.generic("POST", "/batch/v1/jobs", body, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert not Job.objects.exists()


@pytest.mark.parametrize("text", [r"\u0000", r"\ud800"])
@pytest.mark.parametrize("field", ["model", "input_s3_uri", "reasoning_effort", "data_residency"])
def test_text_that_no_field_can_hold_is_422(api, field, text):
    body = f'{{"model": "{stages.MODEL}", "input_s3_uri": "s3://x/y", "{field}": "{text}"}}'
    answer = api.generic("POST", "/batch/v1/jobs", body, content_type="application/json")
    assert answer.status_code == 422


def test_the_eleventh_job_in_the_approval_queue_is_429(api, acme, ready):
    for make in [stages.submitted] * 4 + [stages.quoted] * 6:
        make(acme)
    answer = submit(api, ready, response_format=SCHEMA)
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert "approval queue" in answer.json()["detail"]
    assert list(store().list("jobs/")) == []


def test_only_waiting_jobs_of_this_organization_count(api, acme, globex, ready):
    for _ in range(9):
        stages.quoted(acme)
    stages.quoted(globex)
    stages.running(acme)
    stages.ended(acme)
    stages.ended(acme, Status.CANCELLED)
    assert submit(api, ready).status_code == 201
    assert submit(api, ready).status_code == 429


@pytest.mark.django_db(transaction=True)
def test_submits_at_the_same_moment_do_not_overfill_the_queue(key: KeyInHand, acme, ready):
    for _ in range(8):
        stages.quoted(acme)

    def one(_: int) -> int:
        try:
            return submit(client_of(key), ready).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(one, range(8)))
    assert answers == [201] * 2 + [429] * 6


def test_the_caller_must_be_a_working_key(db, ready):
    anonymous = APIClient()
    assert submit(anonymous, ready).status_code == 422
    anonymous.credentials(HTTP_AUTHORIZATION="Bearer sk-unknown")
    assert submit(anonymous, ready).status_code == 401


def test_a_suspended_organization_is_refused(db):
    organization = make_organization()
    client = client_of(make_key(organization))
    Organization.objects.update(suspended_at=clock.now())
    answer = submit(client, input_id=str(uuid.uuid4()))
    assert answer.status_code == 403
    assert answer.json()["error"] == "org_suspended"
