"""What is sent (reference 001, Webhooks), and that receivers can check it with the published library and by hand."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from anex.core import clock
from jobs import storage
from jobs.models import WebhookEvent
from jobs.run.failures import store_report
from jobs.run.problems import Problem
from jobs.services import endpoints, messages
from tests.factories import make_job
from tests.jobs.api import stages
from tests.jobs.webhooks.driver import ACTOR, add

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(acme, receiver):
    return add(acme, receiver.url("/hook"))


def message(job, event_type, endpoint, now=None):
    event = WebhookEvent.objects.create(organization=job.organization, region="world", job=job, type=event_type)
    return messages.render(event, endpoint[0], now=now or clock.now())


def data(job, event_type, endpoint):
    return json.loads(message(job, event_type, endpoint).body)["data"]


def test_envelope_has_type_time_id_and_data(acme, endpoint):
    now = clock.now().replace(microsecond=512_345)
    job = make_job(acme)
    sent = message(job, "submitted", endpoint, now)
    envelope = json.loads(sent.body)
    assert list(envelope) == ["type", "timestamp", "id", "data"]
    assert envelope["timestamp"] == now.strftime("%Y-%m-%dT%H:%M:%S.512+00:00")
    assert envelope["id"] == sent.headers["webhook-id"] == str(WebhookEvent.objects.get().pk)
    assert sent.headers["webhook-timestamp"] == str(int(now.timestamp()))
    assert envelope["data"] == {"job_id": str(job.pk)}


@pytest.mark.parametrize("event_type", ["submitted", "estimating", "in_progress"])
def test_steps_without_a_payload_carry_the_job_alone(acme, endpoint, event_type):
    job = stages.quoted(acme)
    assert data(job, event_type, endpoint) == {"job_id": str(job.pk)}


def test_cost_ready_carries_the_estimate(acme, endpoint):
    job = stages.quoted(acme)
    estimate = {"est_input_tok": 120_000, "est_output_tok": 40_000, "est_cost_cents": 72}
    assert data(job, "cost_ready", endpoint) == {"job_id": str(job.pk)} | estimate


def test_completed_carries_a_link_that_is_fresh_at_every_attempt(acme, endpoint, monkeypatch):
    job = stages.ended(acme)
    first = data(job, "completed", endpoint)
    assert (first["status"], first["result_expires_in"]) == ("done", 3600)
    assert set(first) == {"job_id", "status", "result_url", "result_expires_in"}
    later = clock.now() + timedelta(hours=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    event = WebhookEvent.objects.get()
    again = json.loads(messages.render(event, endpoint[0], now=later).body)["data"]
    assert again["result_url"] != first["result_url"]


def test_completed_has_no_link_once_the_data_is_deleted(acme, endpoint):
    job = stages.ended(acme, data_deleted_at=clock.now())
    assert data(job, "completed", endpoint) == {"job_id": str(job.pk), "status": "done"}


def test_failed_carries_code_and_reason_from_the_store(acme, endpoint):
    job = make_job(acme, status="failed", failure_code="invalid_input", failure_line=3, partial=False)
    store_report(storage.store(), job.pk, [Problem("bad_json", 3, "This is no JSON.")])
    assert data(job, "failed", endpoint) == {
        "job_id": str(job.pk),
        "status": "failed",
        "partial": False,
        "failure_code": "invalid_input",
        "failure_reason": "Line 3: This is no JSON.",
    }


def test_cancelled_with_finished_rows_can_be_downloaded(acme, endpoint):
    sent = data(stages.ended(acme, "cancelled", partial=True), "cancelled", endpoint)
    assert (sent["status"], sent["partial"], sent["result_expires_in"]) == ("cancelled", True, 3600)
    assert "failure_code" not in sent


def test_signature_verifies_with_the_library_and_by_hand(acme, endpoint):
    sent = message(make_job(acme), "submitted", endpoint)
    secret = endpoint[1]
    assert Webhook(secret).verify(sent.body, sent.headers)["type"] == "submitted"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{sent.headers['webhook-id']}.{sent.headers['webhook-timestamp']}.".encode() + sent.body
    digest = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert sent.headers["webhook-signature"] == f"v1,{digest}"


def test_changed_body_does_not_verify(acme, endpoint):
    sent = message(make_job(acme), "submitted", endpoint)
    with pytest.raises(WebhookVerificationError):
        Webhook(endpoint[1]).verify(sent.body + b" ", sent.headers)


def test_both_secrets_sign_during_the_overlap_and_one_afterwards(acme, endpoint):
    row, former = endpoint
    made = endpoints.rotate(organization_id=acme.pk, endpoint_id=row.pk, actor=ACTOR)
    row.refresh_from_db()
    sent = message(make_job(acme), "submitted", (row, made.secret))
    assert sent.headers["webhook-signature"].count("v1,") == 2
    for secret in (made.secret, former):
        Webhook(secret).verify(sent.body, sent.headers)
    after = messages.render(WebhookEvent.objects.get(), row, now=clock.now() + timedelta(hours=24, seconds=1))
    assert after.headers["webhook-signature"].count("v1,") == 1


def test_overlap_can_be_ended_at_once(acme, endpoint):
    row, former = endpoint
    made = endpoints.rotate(organization_id=acme.pk, endpoint_id=row.pk, actor=ACTOR)
    endpoints.end_overlap(organization_id=acme.pk, endpoint_id=row.pk, actor=ACTOR)
    row.refresh_from_db()
    sent = message(make_job(acme), "submitted", (row, made.secret))
    Webhook(made.secret).verify(sent.body, sent.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(former).verify(sent.body, sent.headers)
