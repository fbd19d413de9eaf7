"""Numbers that make no sense, wherever a request or a page takes one: refused, and the balance never rises."""

import uuid

import pytest
from django.test import Client

from billing.models import AutoTopup, Transfer
from billing.selectors import balances
from billing.services import topups
from jobs.models import Job
from tests.factories import actor_of, grant_credits, make_input, make_key, make_organization, make_user
from tests.jobs.api import stages
from tests.jobs.api.conftest import served

pytestmark = pytest.mark.django_db
__all__ = ["served"]

ABSURD = ["-1", "1e308", "18446744073709551615", "NaN", "-Infinity"]
FIELDS_OF_A_JOB = ["max_output_tokens", "temperature", "reasoning_budget", "dimensions", "video_fps"]
FORMS = [
    ("/credits/add", {"save_method": ""}, "dollars"),
    ("/credits/auto", {"enabled": "on", "threshold": "5", "monthly_cap": "50"}, "dollars"),
    ("/credits/auto", {"enabled": "on", "dollars": "5", "monthly_cap": "50"}, "threshold"),
    ("/credits/auto", {"enabled": "on", "dollars": "5", "threshold": "5"}, "monthly_cap"),
    ("/credits/alert", {}, "threshold"),
    ("/jobs/auto-approve", {"enabled": "on"}, "max_job"),
    ("/jobs/auto-approve", {"enabled": "on"}, "max_day"),
    ("/keys/new", {"name": "k", "scopes": ["batch:read"]}, "daily_ceiling"),
    ("/jobs/new", {"model": stages.MODEL}, "max_output_tokens"),
    ("/jobs/new", {"model": stages.MODEL}, "temperature"),
]


@pytest.fixture
def acme(served):
    organization = make_organization("Acme")
    grant_credits(organization)
    AutoTopup.objects.create(organization=organization, gateway="local", customer_ref="c", method_ref="m")
    return organization


@pytest.fixture
def ada(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client


@pytest.fixture(autouse=True)
def unmoved(acme):
    """Nothing of this file moves a nano-dollar."""
    before = (balances.get(acme.pk), Transfer.objects.count())
    yield
    assert (balances.get(acme.pk), Transfer.objects.count()) == before


@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("field", FIELDS_OF_A_JOB)
def test_api_refuses_an_absurd_option_of_a_job(acme, field, value):
    body = f'{{"model": "{stages.MODEL}", "input_id": "{make_input(acme).pk}", "{field}": {value}}}'
    answer = Client().post(
        "/batch/v1/jobs", body, content_type="application/json", headers={"authorization": make_key(acme).header}
    )
    assert answer.status_code == 422, answer.content
    assert not Job.objects.exists()


@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize(("path", "others", "field"), FORMS)
def test_page_refuses_an_absurd_quantity_beside_its_form(ada, acme, path, others, field, value):
    given = {"topup_id": str(uuid.uuid4()), "input_id": str(make_input(acme).pk)} | others
    answer = ada.post(path, given | {field: value})
    assert answer.status_code in (200, 400)
    assert "error" in answer.content.decode()
    assert not Job.objects.exists()
    assert not AutoTopup.objects.get().enabled


@pytest.mark.parametrize("value", [*ABSURD, "0"])
def test_statement_and_usage_of_no_time_are_refused(ada, value):
    assert ada.get(f"/credits/statements/{value}-{value}").status_code == 404
    assert ada.get("/usage", {"start_date": value, "end_date": value}).status_code in (200, 400)
    assert ada.get("/credits", {"before": value, "start": value, "end": value}).status_code == 200


def test_payment_that_was_never_made_cannot_be_claimed(ada, acme):
    topup = uuid.uuid4()
    topups.start(
        organization_id=acme.pk, topup_id=topup, cents=2_000, save_method=False, actor=actor_of(make_user("ada"))
    )
    assert ada.get(f"/credits/payments/{topup}").status_code == 200
    assert ada.get(f"/credits/payments/{topup}/receipt").status_code == 404
