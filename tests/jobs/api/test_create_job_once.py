"""POST /jobs with an Idempotency-Key: one job per key, however often and however fast it is sent."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from accounts.models import AuditEvent, Idempotency
from anex.core import clock
from inference.backends import registry
from jobs.api import rendering
from jobs.models import Chunk, Input, Job
from jobs.services import cancellations
from jobs.storage import store
from tests.factories import KeyInHand, grant_credits, make_input, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

SCHEMA = {"type": "json_object"}


@pytest.fixture
def ready(acme) -> Input:
    return make_input(acme)


def submit(api, source, *, key="order-1", **fields):
    body = {"model": stages.MODEL, "input_id": str(source.pk)} | fields
    return api.post("/batch/v1/jobs", body, format="json", headers={"Idempotency-Key": key})


def test_repetition_answers_the_same_and_creates_nothing(api, ready):
    first, second = submit(api, ready, response_format=SCHEMA), submit(api, ready, response_format=SCHEMA)
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert (
        Job.objects.count() == Chunk.objects.count() == AuditEvent.objects.filter(action="job.submitted").count() == 1
    )
    assert len(list(store().list("jobs/"))) == 1


def test_repetition_answers_as_at_first_whatever_became_of_the_job(api, acme, ready):
    first = submit(api, ready)
    job = Job.objects.get()
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=stages.BUILDER)
    registry.remove(model_id=stages.MODEL, actor=stages.BUILDER)
    Input.objects.update(status=Input.State.EXPIRED)
    again = submit(api, ready)
    assert (again.status_code, again.json()) == (201, first.json())


def test_another_body_is_409_with_a_code(api, ready):
    submit(api, ready)
    answer = submit(api, ready, temperature=1)
    assert answer.status_code == 409
    assert answer.json()["code"] == "idempotency_key_reused"
    assert "another request" in answer.json()["detail"]
    assert answer["x-should-retry"] == "false"
    assert Job.objects.count() == 1


def test_another_key_is_another_job(api, ready):
    assert submit(api, ready).json() != submit(api, ready, key="order-2").json()


def test_what_was_refused_does_not_use_up_its_key(api, acme, ready):
    for _ in range(10):
        stages.quoted(acme)
    assert submit(api, ready, response_format=SCHEMA).status_code == 429
    assert submit(api, ready, model="gpt-9").status_code == 422
    assert not Idempotency.objects.exists()
    assert list(store().list("jobs/")) == []
    Job.objects.update(status="cancelled")
    assert submit(api, ready).status_code == 201


@pytest.mark.parametrize("malformed", ["", "x" * 256, "caf\xe9"])
def test_malformed_key_is_400(api, ready, malformed):
    assert submit(api, ready, key=malformed).status_code == 400
    assert not Job.objects.exists()


@pytest.mark.parametrize(("hours", "jobs"), [(23, 1), (25, 2)])
def test_key_is_kept_for_a_day(api, ready, monkeypatch, hours, jobs):
    submit(api, ready)
    later = clock.now() + timedelta(hours=hours)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert submit(api, ready).status_code == 201
    assert Job.objects.count() == jobs


def test_process_that_died_after_the_commit_is_made_up_for(api, ready, monkeypatch):
    def die(job):
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr(rendering, "created", die)
        with pytest.raises(SystemExit):
            submit(api, ready)
    assert submit(api, ready).json()["id"] == str(Job.objects.get().pk)


def test_key_of_another_organization_is_another_key(api, globex, ready):
    grant_credits(globex)
    submit(api, ready)
    assert submit(client_of(make_key(globex)), make_input(globex)).status_code == 201
    assert Job.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_hundred_at_once_have_one_effect_and_one_answer(key: KeyInHand, acme, ready):
    def one(_: int):
        try:
            answer = submit(client_of(key), ready, response_format=SCHEMA)
            return answer.status_code, answer.json().get("id"), answer.json().get("code")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(25) as pool:
        answers = list(pool.map(one, range(100)))
    job = Job.objects.get()
    assert set(answers) <= {(201, str(job.pk), None), (409, None, "idempotency_key_in_use")}
    assert (201, str(job.pk), None) in answers
    assert len(list(store().list("jobs/"))) == 1
