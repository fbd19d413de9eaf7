"""The callback of a copied input: signed with its own secret, sent once, after the commit."""

from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from anex.core import clock, safe_http
from jobs.models import Ingest
from jobs.run import ingests
from jobs.selectors.inputs import uri
from tests.jobs.run.driver import HandLease
from tests.jobs.run.ingest_driver import claim, copied, hooks, ingest


@pytest.fixture(autouse=True)
def source(https_server, https_rules, monkeypatch):
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    https_server.answer("/rows", 200, b"{}\n")
    https_server.answer("/hook", 204)
    return https_server


@pytest.fixture
def lease(db) -> HandLease:
    return HandLease()


def test_the_callback_of_a_ready_input_verifies_with_the_library(acme, source, lease):
    made, secret = ingest(acme, source.url("/rows"), callback_url=source.url("/hook"))
    made = copied(made, lease)
    (request,) = hooks(source)
    body = Webhook(secret).verify(request.body, request.headers)
    assert body == {
        "type": "input.ready",
        "timestamp": int(request.headers["webhook-timestamp"]),
        "id": request.headers["webhook-id"],
        "data": {"id": str(made.pk), "status": "ready", "input_s3_uri": uri(made)},
    }
    assert (request.method, request.headers["content-type"]) == ("POST", "application/json")
    assert abs(datetime.fromtimestamp(body["timestamp"], UTC) - clock.now()) < timedelta(minutes=1)


def test_the_callback_of_a_failed_input_says_why(acme, source, lease):
    made, secret = ingest(acme, source.url("/gone"), callback_url=source.url("/hook"))
    copied(made, lease)
    (request,) = hooks(source)
    body = Webhook(secret).verify(request.body, request.headers)
    assert body["type"] == "input.failed"
    assert body["data"] == {
        "id": str(made.pk),
        "status": "failed",
        "error": "The source answered with status 404, not with a file.",
    }


@pytest.mark.parametrize("status", [302, 400, 410, 500])
def test_a_callback_is_sent_once_whatever_is_answered(acme, source, lease, status):
    source.answer("/hook", status, b"", Location=source.url("/elsewhere"))
    made = copied(ingest(acme, source.url("/rows"), callback_url=source.url("/hook"))[0], lease)
    assert (made.status, len(hooks(source)), claim(lease)) == ("ready", 1, None)
    assert "/elsewhere" not in {request.path for request in source.requests}


def test_a_callback_nobody_takes_leaves_the_input_ready(acme, source, lease):
    made = copied(ingest(acme, source.url("/rows"), callback_url=source.url("/", host="other.test"))[0], lease)
    assert (made.status, Ingest.objects.get(input=made).closed) == ("ready", True)


def test_a_worker_that_dies_between_commit_and_callback_loses_no_callback(acme, source, lease, monkeypatch):
    made, _ = ingest(acme, source.url("/rows"), callback_url=source.url("/hook"))
    real = ingests.callbacks.send
    monkeypatch.setattr(ingests.callbacks, "send", _dying)
    with pytest.raises(SystemExit):
        ingests.run(claim(lease))
    made.refresh_from_db()
    assert (made.status, hooks(source)) == ("ready", [])
    monkeypatch.setattr(ingests.callbacks, "send", real)
    Ingest.objects.update(epoch=None)
    etag = made.etag
    made = copied(made, lease)
    assert (len(hooks(source)), made.etag) == (1, etag)


def _dying(*args, **kwargs):
    raise SystemExit
