"""The batch API refuses what a key may not do: scopes, models, ceilings (reference 004)."""

from datetime import timedelta

import pytest

from accounts.services import keys
from anex.core.actors import system
from anex.core.money import cents_to_nano
from billing.selectors import balances
from jobs.models import Job
from jobs.services import cancellations
from tests.factories import make_input, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

READS = ["/batch/v1/jobs", "/batch/v1/jobs/{0}", "/batch/v1/jobs/{0}/result", "/batch/v1/inputs/{0}"]
WRITES = ["/batch/v1/inputs", "/batch/v1/jobs", "/batch/v1/jobs/{0}/approve", "/batch/v1/jobs/{0}/cancel"]
WRITES += ["/batch/v1/jobs/{0}/pause", "/batch/v1/jobs/{0}/resume", "/batch/v1/jobs/{0}/retry"]
CALLS = [("get", path, "batch:read") for path in READS] + [("post", path, "batch:write") for path in WRITES]
CALLS += [("delete", "/batch/v1/jobs/{0}/data", "batch:write")]


@pytest.mark.parametrize(("method", "path", "scope"), CALLS)
def test_each_endpoint_needs_its_scope_and_names_it(acme, method, path, scope):
    job = stages.quoted(acme)
    others = frozenset({"batch:read", "batch:write", "text:write"}) - {scope}
    without, having = make_key(acme, scopes=others), make_key(acme, scopes=frozenset({scope}))
    refused = getattr(client_of(without), method)(path.format(job.pk), format="json")
    assert refused.status_code == 403
    body = refused.json()
    assert (body["required"], body["accepted"], body["code"]) == (scope, [scope], "missing_scope")
    assert scope in body["detail"]
    assert getattr(client_of(having), method)(path.format(job.pk), format="json").status_code != 403


def test_limited_key_submits_and_approves_its_models_alone(acme):
    mine, other = make_key(acme, models=frozenset({stages.MODEL})), make_key(acme, models=frozenset({"laya"}))
    body = {"model": stages.MODEL, "input_id": str(make_input(acme).pk)}
    refused = client_of(other).post("/batch/v1/jobs", body, format="json")
    assert (refused.status_code, refused.json()["allowed_models"]) == (403, ["laya"])
    assert not Job.objects.exists()
    assert client_of(mine).post("/batch/v1/jobs", body, format="json").status_code == 201
    job = stages.quoted(acme)
    assert client_of(other).post(f"/batch/v1/jobs/{job.pk}/approve").status_code == 403
    assert client_of(mine).post(f"/batch/v1/jobs/{job.pk}/approve").status_code == 200


def test_approval_past_a_ceiling_is_429_and_leaves_the_job_waiting(acme):
    key = make_key(acme, monthly_ceiling_cents=100)
    api, first, second = client_of(key), stages.quoted(acme), stages.quoted(acme)
    assert api.post(f"/batch/v1/jobs/{first.pk}/approve").status_code == 200
    refused = api.post(f"/batch/v1/jobs/{second.pk}/approve")
    assert refused.status_code == 429
    assert refused["x-should-retry"] == "false"
    assert "Retry-After" not in refused
    body = refused.json()
    assert (body["type"], body["code"]) == ("insufficient_quota", "key_credit_ceiling")
    assert (body["ceiling"], body["spent"]) == (100, 72)
    second.refresh_from_db()
    assert (second.status, second.approved_at) == ("cost_ready", None)
    assert balances.get(acme.pk).held_nano == cents_to_nano(72)
    assert client_of(make_key(acme)).post(f"/batch/v1/jobs/{second.pk}/approve").status_code == 200


def test_cancelled_job_gives_its_hold_back_to_the_ceiling(acme):
    api = client_of(make_key(acme, daily_ceiling_cents=72))
    first, second = stages.quoted(acme), stages.quoted(acme)
    api.post(f"/batch/v1/jobs/{first.pk}/approve")
    cancellations.cancel(organization_id=acme.pk, job_id=first.pk, actor=system("tests"))
    assert api.post(f"/batch/v1/jobs/{second.pk}/approve").status_code == 200


def test_rotation_does_not_reset_what_was_spent(acme):
    key = make_key(acme, daily_ceiling_cents=100)
    first, second = stages.quoted(acme), stages.quoted(acme)
    client_of(key).post(f"/batch/v1/jobs/{first.pk}/approve")
    made = keys.rotate(organization_id=acme.pk, key_id=key.caller.key_id, overlap=timedelta(0), actor=system("tests"))
    api = client_of(type(key)(key.caller, made.secret))
    assert api.post(f"/batch/v1/jobs/{second.pk}/approve").json()["code"] == "key_credit_ceiling"
