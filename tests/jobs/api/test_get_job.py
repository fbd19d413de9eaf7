"""GET /jobs/{id} (reference 001, poll a job; reference 003, getJob)."""

import json
import uuid
from datetime import datetime, timedelta

import pytest

from anex.core import clock
from anex.core.actors import system
from inference.backends import registry
from jobs.lifecycle import Status
from jobs.models import Part
from jobs.storage import keys, store
from tests.jobs.api import stages

REFERENCE_FIELDS = {
    *("id", "status", "model", "reasoning", "reasoning_effort", "reasoning_budget", "temperature", "video_fps"),
    *("est_input_tok", "est_output_tok", "est_cost_cents", "est_processing_seconds"),
    *("success_rows", "error_rows", "format_error_rows", "truncated_rows", "pending_rows"),
    *("created_at", "approved_at", "data_expires_at", "data_deleted_at", "partial"),
    *("failure_code", "failure_reason", "max_output_tokens", "max_tokens"),
    *("task_type", "format", "response_format", "dimensions", "data_residency"),
}
OUR_FIELDS = {
    *("expected_cost_cents", "expected_cost_low_cents", "expected_cost_high_cents"),
    *("progress", "charge_cents", "stop_reason", "failure_errors", "paused", "retry_of"),
    *("completion_window", "price_percent", "priority"),
}
COUNTS = ("success_rows", "error_rows", "format_error_rows", "truncated_rows", "pending_rows")


def poll(api, job) -> dict:
    answer = api.get(f"/batch/v1/jobs/{job.pk}")
    assert answer.status_code == 200
    return answer.json()


def given(body: dict) -> dict:
    return {name: value for name, value in body.items() if value not in (None, [])}


def test_a_new_job_shows_what_was_asked_and_nulls(api, acme):
    job = stages.submitted(acme, requested_max_output_tokens=600, temperature=0.0, reasoning=False)
    body = poll(api, job)
    assert set(body) == REFERENCE_FIELDS | OUR_FIELDS
    created = body.pop("created_at")
    assert datetime.fromisoformat(created) == job.created_at
    assert given(body) == {
        "id": str(job.pk),
        "status": "submitted",
        "model": stages.MODEL,
        "max_output_tokens": 600,
        "max_tokens": 600,
        "temperature": 0.0,
        "reasoning": False,
        "task_type": "chat",
        "format": "jsonl",
        "data_residency": "world",
        "completion_window": "24h",
        "priority": 5,
        "paused": False,
    }


@pytest.mark.parametrize("task", ["embed", "decide"])
def test_a_job_that_writes_nothing_has_a_cap_of_zero_from_the_start(api, acme, task):
    body = poll(api, stages.submitted(acme, task_type=task, requested_max_output_tokens=None))
    assert (body["max_output_tokens"], body["max_tokens"], body["reasoning_budget"]) == (0, 0, None)
    assert body["est_output_tok"] is None


def test_a_quoted_job_shows_its_estimate_and_the_effective_cap(api, acme):
    body = poll(api, stages.quoted(acme, requested_max_output_tokens=None))
    assert (body["est_input_tok"], body["est_output_tok"]) == (120_000, 40_000)
    assert (body["est_cost_cents"], body["est_processing_seconds"]) == (72, 900)
    assert body["max_output_tokens"] == body["max_tokens"] == 600
    assert body["progress"] is None
    assert [body[name] for name in COUNTS] == [None] * 5


def test_a_quoted_job_shows_what_it_will_usually_cost_and_the_estimated_budget(api, acme):
    usual = {"expected_cost_cents": 30, "expected_cost_low_cents": 21, "expected_cost_high_cents": 48}
    body = poll(api, stages.quoted(acme, estimated_reasoning_budget=300, **usual))
    assert {name: body[name] for name in usual} == usual
    assert body["reasoning_budget"] == 300
    assert poll(api, stages.quoted(acme, reasoning_budget=0))["reasoning_budget"] == 0


def test_a_running_job_shows_progress_but_no_counts(api, acme):
    job = stages.running(acme)
    stages.part(job, index=0, cost_nano=10_000_001)
    stages.part(job, index=1, success_rows=1, error_rows=2, format_error_rows=3, truncated_rows=4)
    body = poll(api, job)
    known = {"rows_done": 20, "rows_failed": 5, "rows_total": 100, "spent_cents": 2}
    assert body["progress"].items() >= (known | {"input_tokens": 20, "output_tokens": 20}).items()
    assert [body[name] for name in COUNTS] == [None] * 5
    assert body["approved_at"] is not None
    assert body["charge_cents"] is None


def test_a_running_job_shows_its_pace_of_the_last_minute_and_what_is_left_at_that_pace(api, acme):
    job = stages.running(acme, approved_at=clock.now() - timedelta(hours=1))
    before = stages.part(job, index=0, success_rows=10)
    Part.objects.filter(pk=before.pk).update(created_at=clock.now() - timedelta(minutes=2))
    stages.part(job, index=1, success_rows=30)
    progress = poll(api, job)["progress"]
    assert (progress["rows_per_second"], progress["seconds_left"]) == (0.5, 120)


def test_a_running_job_says_that_it_waits_for_a_server(api, acme, served):
    job = stages.running(acme)
    assert poll(api, job)["progress"]["waits_for_server"] is False
    registry.switch(enabled=False, model_id=job.model_id, actor=system("test"))
    assert poll(api, job)["progress"]["waits_for_server"] is True


def test_what_was_spent_so_far_is_never_shown_above_the_estimate(api, acme):
    job = stages.running(acme)
    stages.part(job, cost_nano=10**12)
    assert poll(api, job)["progress"]["spent_cents"] == 72


def test_a_finished_job_shows_its_counts_and_charge(api, acme):
    body = poll(api, stages.ended(acme))
    assert [body[name] for name in COUNTS] == [90, 3, 2, 4, 1]
    assert body["charge_cents"] == 41
    assert body["partial"] is False
    assert body["data_expires_at"] is not None
    nothing_runs = dict.fromkeys(("input_tokens", "output_tokens", "rows_per_second", "seconds_left", "off_reason"))
    known = {"rows_done": 99, "rows_failed": 5, "rows_total": 100, "spent_cents": 41, "waits_for_server": False}
    assert body["progress"] == known | nothing_runs


def test_a_failed_job_says_why_from_the_store(api, acme):
    job = stages.ended(
        acme, Status.FAILED, failure_code="invalid_input", failure_line=3, approved_at=None, result_key=""
    )
    named = {"code": "duplicate_custom_id", "line": 3, "custom_id": "a", "param": "custom_id"}
    errors = [named | {"message": "Row 'a' appears twice."}]
    store().put(keys.failure(job.pk), json.dumps({"reason": "Row 'a' appears twice.", "errors": errors}).encode())
    body = poll(api, job)
    assert (body["failure_code"], body["failure_reason"]) == ("invalid_input", "Row 'a' appears twice.")
    assert body["failure_errors"] == errors


def test_the_response_format_comes_back_as_it_was_sent(api, acme):
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "title": "Grüße"}}}
    job = stages.submitted(acme, has_response_format=True)
    store().put(keys.response_format(job.pk), json.dumps(schema).encode())
    assert poll(api, job)["response_format"] == schema


def test_deleted_data_leaves_the_record(api, acme):
    job = stages.ended(
        acme, Status.FAILED, failure_code="internal_error", has_response_format=True, data_deleted_at=clock.now()
    )
    body = poll(api, job)
    assert body["failure_code"] == "internal_error"
    assert (body["failure_reason"], body["response_format"]) == (None, None)
    assert body["success_rows"] == 90


def test_a_foreign_id_is_404_like_an_unknown_or_malformed_one(api, globex):
    foreign = stages.quoted(globex)
    answers = [api.get(f"/batch/v1/jobs/{job_id}") for job_id in (foreign.pk, uuid.uuid4(), "not-an-id")]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert [answer.json() for answer in answers] == [{"detail": "No such job."}] * 3


@pytest.mark.parametrize(("make", "reads"), [(stages.quoted, 1), (stages.running, 3), (stages.ended, 1)])
def test_a_poll_costs_few_queries(api, acme, django_assert_num_queries, make, reads):
    """One for the job with its input, two more for the parts and servers of a running one, two for key and freeze."""
    job = make(acme)
    poll(api, job)
    with django_assert_num_queries(reads + 2):
        poll(api, job)
