"""POST /inputs and GET /inputs/{id} (references 001 and 003)."""

import uuid
from datetime import datetime, timedelta

import pytest

from anex.core import clock
from jobs.models import Input
from jobs.services import inputs
from jobs.storage import store
from tests.factories import make_input, make_key, make_organization
from tests.jobs.api.conftest import client_of

INPUTS = "/batch/v1/inputs"


def create(api, **body):
    return api.post(INPUTS, body, format="json")


def landed(body) -> None:
    store().put(body["fields"]["key"], b'{"custom_id":"1"}\n')


def test_create_answers_a_target_for_about_an_hour(api, acme):
    answer = create(api, format="jsonl")
    body = answer.json()
    key = f"uploads/{acme.pk}/{body['id']}.jsonl"
    assert answer.status_code == 201
    assert body["status"] == "awaiting_upload"
    assert body["upload_url"] == "http://127.0.0.1:8000/storage/upload"
    assert body["fields"]["key"] == key
    assert set(body["fields"]) == {
        "key",
        "policy",
        "x-amz-algorithm",
        "x-amz-credential",
        "x-amz-date",
        "x-amz-signature",
    }
    assert body["input_s3_uri"] == f"s3://anex-world/{key}"
    left = datetime.fromisoformat(body["expires_at"]) - clock.now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)


def test_a_parquet_input_is_named_as_one(api, acme):
    body = create(api, format="parquet").json()
    assert body["fields"]["key"] == f"uploads/{acme.pk}/{body['id']}.parquet"
    assert body["input_s3_uri"].endswith(f"/{body['id']}.parquet")
    assert Input.objects.get(pk=body["id"]).format == "parquet"


def test_the_input_names_the_key_that_made_it(api, key):
    source = Input.objects.get(pk=create(api, format="jsonl").json()["id"])
    assert source.created_by == f"key:{key.caller.key_id}"


@pytest.mark.parametrize("body", [{}, {"format": None}, {"data_residency": "world"}])
def test_a_missing_format_is_400(api, body):
    answer = create(api, **body)
    assert answer.status_code == 400
    assert "format" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {"format": "csv"},
        {"format": 5},
        {"format": True},
        {"format": ["jsonl"]},
        {"format": "jsonl", "data_residency": "mars"},
        {"format": "jsonl", "data_residency": 1},
        {"format": "jsonl", "data_residency": {"region": "eu"}},
        {"format": "jsonl", "callback_url": "no address"},
    ],
)
def test_what_the_schema_does_not_allow_is_422(api, body):
    assert create(api, **body).status_code == 422
    assert not Input.objects.exists()


@pytest.mark.parametrize(
    "body", [b"[]", b'"jsonl"', b"5", b"{", b"null", b'{"format":"jsonl"', b"\xff", b"[" * 100_000]
)
def test_a_body_that_is_no_object_is_422(api, body):
    assert api.post(INPUTS, body, content_type="application/json").status_code == 422


def test_a_callback_url_does_not_go_with_an_upload(api):
    answer = create(api, format="jsonl", callback_url="https://example.com/hook")
    assert answer.status_code == 400
    assert "callback_url" in answer.json()["detail"]


def test_data_residency_world_is_what_everybody_has(api):
    assert create(api, format="jsonl", data_residency="world").status_code == 201


def test_data_residency_eu_needs_routing(api):
    answer = create(api, format="jsonl", data_residency="eu")
    assert answer.status_code == 403
    assert answer.json() == {"detail": "EU data routing is not enabled for this organization. Contact us to enable it."}


def test_an_empty_balance_is_402_and_mints_nothing(globex):
    answer = create(client_of(make_key(globex)), format="jsonl")
    assert answer.status_code == 402
    assert not Input.objects.exists()


def test_the_status_follows_the_upload(api):
    created = create(api, format="jsonl").json()
    path = f"{INPUTS}/{created['id']}"
    waiting = api.get(path).json()
    assert waiting == {
        "id": created["id"],
        "status": "awaiting_upload",
        "input_s3_uri": created["input_s3_uri"],
        "error": None,
        "expires_at": created["expires_at"],
    }
    landed(created)
    ready = api.get(path).json()
    left = datetime.fromisoformat(ready["expires_at"]) - clock.now()
    assert (ready["status"], ready["input_s3_uri"]) == ("ready", created["input_s3_uri"])
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)
    assert api.get(path).json() == ready


def test_a_ready_input_expires_after_seven_days(api, acme):
    source = make_input(acme, expires_at=clock.now() - timedelta(seconds=1))
    body = api.get(f"{INPUTS}/{source.pk}").json()
    assert (body["status"], body["expires_at"]) == ("expired", None)


def test_a_window_that_closed_shows_no_deadline_and_then_expired(api):
    created = create(api, format="jsonl").json()
    path = f"{INPUTS}/{created['id']}"
    row = Input.objects.filter(pk=created["id"])
    row.update(upload_expires_at=clock.now() - timedelta(seconds=1))
    late = api.get(path).json()
    assert (late["status"], late["expires_at"]) == ("awaiting_upload", None)
    row.update(upload_expires_at=clock.now() - inputs.UPLOAD_GRACE)
    assert api.get(path).json()["status"] == "expired"


@pytest.mark.parametrize("name", ["00000000-0000-4000-8000-000000000000", "nonsense", "%00", "1" * 5000])
def test_an_unknown_or_malformed_id_is_404(api, name):
    answer = api.get(f"{INPUTS}/{name}")
    assert (answer.status_code, answer.json()) == (404, {"detail": "No such input in this organization."})


def test_an_input_of_another_organization_is_404(api):
    source = make_input(make_organization("Globex"))
    answer = api.get(f"{INPUTS}/{source.pk}")
    assert (answer.status_code, answer.json()) == (404, {"detail": "No such input in this organization."})


def test_a_key_is_needed(client, db):
    assert client.post(INPUTS, {"format": "jsonl"}, content_type="application/json").status_code == 422
    refused = client.get(f"{INPUTS}/{uuid.uuid4()}", headers={"Authorization": "Bearer sk-unknown"})
    assert refused.status_code == 401
