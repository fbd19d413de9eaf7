"""POST /jobs/{id}/retry: the failed rows of a job that is over, as a new job (an addition to reference 003)."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from accounts.models import AuditEvent, Idempotency
from anex.core import clock
from billing import price_cards
from inference.backends import registry
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Chunk, Input, Job
from jobs.storage import keys, store
from tests.factories import KeyInHand, make_input, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

SCHEMA = {"type": "json_object"}


def retry(api, job, *, key: str | None = None, **body: object):
    headers = {"Idempotency-Key": key} if key else {}
    sent = {"data": json.dumps(body), "content_type": "application/json"} if body else {}
    return api.post(f"/batch/v1/jobs/{job.pk}/retry", **sent, headers=headers)


def test_makes_a_job_that_waits_for_its_own_quote(api, acme, key: KeyInHand):
    urgency = {"completion_window": "1h", "share": 4, "priority": 7}
    job = stages.ended(acme, temperature=0.5, requested_max_output_tokens=9, reasoning=False, **urgency)
    answer = retry(api, job)
    made = Job.objects.get(retry_of=job)
    assert (answer.status_code, answer.json()) == (201, {"id": str(made.pk), "status": "submitted"})
    assert (made.model_id, made.temperature, made.requested_max_output_tokens) == (stages.MODEL, 0.5, 9)
    assert (made.reasoning, made.created_by) == (False, f"key:{key.caller.key_id}")
    assert {name: getattr(made, name) for name in urgency} == urgency
    assert (made.quote_cents, made.approved_at, made.minimum_paid) == (None, None, True)
    assert Chunk.objects.get(job=made).kind == "validate"
    assert AuditEvent.objects.get(action="job.submitted").details["retry_of"] == str(job.pk)
    shown = api.get(f"/batch/v1/jobs/{made.pk}").json()
    assert shown["retry_of"] == str(job.pk)


def test_window_and_priority_may_be_others(api, acme, monkeypatch):
    job = stages.ended(acme, completion_window="1h", share=4, priority=7)
    made = Job.objects.get(pk=retry(api, job, completion_window="24h", priority=2).json()["id"])
    assert (made.completion_window, made.share, made.priority) == ("24h", 1, 2)
    assert retry(api, job, completion_window="2h").status_code == 422
    within = price_cards.within
    monkeypatch.setattr(price_cards, "within", lambda model, window: None if window == "1h" else within(model, window))
    made = Job.objects.get(pk=retry(api, job).json()["id"])
    assert (made.completion_window, made.share, made.priority) == ("24h", 1, 7)
    assert retry(api, job, completion_window="1h").status_code == 422


def test_old_job_stays_as_it_is(api, acme):
    job = stages.ended(acme)
    before = api.get(f"/batch/v1/jobs/{job.pk}").json()
    retry(api, job)
    assert api.get(f"/batch/v1/jobs/{job.pk}").json() == before


def test_schema_of_the_old_job_is_copied(api, acme):
    job = stages.ended(acme, has_response_format=True)
    store().put(keys.response_format(job.pk), json.dumps(SCHEMA).encode())
    made = Job.objects.get(pk=retry(api, job).json()["id"])
    store().delete([keys.response_format(job.pk)])
    assert api.get(f"/batch/v1/jobs/{made.pk}").json()["response_format"] == SCHEMA


@pytest.mark.parametrize("status", [status for status in Status if status not in TERMINAL])
def test_job_that_is_not_over_is_409(api, acme, status):
    job = stages.quoted(acme, status=status)
    answer = retry(api, job)
    assert answer.status_code == 409
    assert status in answer.json()["detail"]
    assert Job.objects.count() == 1


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_job_that_ended_in_any_way_is_taken(api, acme, status):
    assert retry(api, stages.ended(acme, status)).status_code == 201


@pytest.mark.parametrize(
    "counts",
    [
        {"success_rows": 90, "error_rows": 0, "format_error_rows": 0, "truncated_rows": 10},
        {"success_rows": 0, "row_count": None},
    ],
)
def test_job_without_a_failed_row_is_409(api, acme, counts):
    answer = retry(api, stages.ended(acme, **counts))
    assert answer.status_code == 409
    assert "no row to retry" in answer.json()["detail"]


@pytest.mark.parametrize(
    "gone",
    [
        {"data_deleted_at": clock.now()},
        {"data_expires_at": clock.now()},
        {"has_response_format": True},
    ],
)
def test_job_whose_data_is_gone_is_410(api, acme, gone):
    assert retry(api, stages.ended(acme, **gone)).status_code == 410
    assert Job.objects.count() == 1


def test_job_whose_input_was_purged_or_has_lapsed_is_410(api, acme):
    purged = make_input(acme, status=Input.State.EXPIRED, purged_at=clock.now())
    lapsed = make_input(acme, expires_at=clock.now() - timedelta(seconds=1))
    for source in (purged, lapsed):
        assert retry(api, stages.ended(acme, input=source)).status_code == 410


def test_foreign_job_is_404_like_an_unknown_one(api, globex):
    foreign, unknown = stages.ended(globex), Job()
    assert retry(api, foreign).status_code == 404
    assert retry(api, foreign).json() == retry(api, unknown).json()


def test_model_that_is_no_longer_offered_is_422(api, acme):
    job = stages.ended(acme)
    registry.remove(model_id=stages.MODEL, actor=stages.BUILDER)
    assert retry(api, job).status_code == 422


def test_key_limited_to_other_models_is_403(acme):
    job = stages.ended(acme)
    refused = retry(client_of(make_key(acme, models=frozenset({"laya"}))), job)
    assert (refused.status_code, refused.json()["allowed_models"]) == (403, ["laya"])
    assert retry(client_of(make_key(acme, models=frozenset({stages.MODEL}))), job).status_code == 201


def test_empty_balance_is_402(globex):
    assert retry(client_of(make_key(globex)), stages.ended(globex)).status_code == 402


def test_full_approval_queue_is_429_and_leaves_nothing(api, acme):
    job = stages.ended(acme, has_response_format=True)
    store().put(keys.response_format(job.pk), json.dumps(SCHEMA).encode())
    for _ in range(10):
        stages.quoted(acme)
    assert retry(api, job, key="again").status_code == 429
    assert len(list(store().list("jobs/"))) == 1
    assert not Idempotency.objects.exists()


def test_same_key_is_the_same_job_even_when_it_is_over(api, acme):
    job = stages.ended(acme)
    first = retry(api, job, key="again")
    Job.objects.filter(retry_of=job).update(status=Status.FAILED)
    Job.objects.filter(pk=job.pk).update(data_deleted_at=clock.now())
    assert retry(api, job, key="again").json() == first.json()
    assert Job.objects.filter(retry_of=job).count() == 1


def test_same_key_for_another_job_is_409(api, acme):
    retry(api, stages.ended(acme), key="again")
    answer = retry(api, stages.ended(acme), key="again")
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_reused")


def test_without_a_key_every_call_is_a_job(api, acme):
    job = stages.ended(acme)
    assert retry(api, job).json() != retry(api, job).json()


@pytest.mark.django_db(transaction=True)
def test_same_key_twenty_times_at_once_is_one_job(key: KeyInHand, acme):
    job = stages.ended(acme)

    def one(_: int) -> tuple[int, str | None]:
        try:
            answer = retry(client_of(key), job, key="again")
            return answer.status_code, answer.json().get("id")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        answers = set(pool.map(one, range(20)))
    made = Job.objects.get(retry_of=job)
    assert answers <= {(201, str(made.pk)), (409, None)}
    assert (201, str(made.pk)) in answers
