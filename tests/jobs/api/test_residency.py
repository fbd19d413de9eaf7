"""Data residency: which API takes what (references 001 and 003: data_residency, 403, 421, 422)."""

import pytest

from accounts.services import organizations
from anex.core import clock
from anex.core.actors import system
from inference.backends import registry
from jobs.lifecycle import Status
from jobs.models import Input, Job
from jobs.services import erasing
from jobs.storage import store
from tests.factories import make_input
from tests.jobs import stored
from tests.jobs.api import stages
from tests.jobs.api.test_reference_schemas import judged

ORIGINS = {"world": "https://api.anex.test", "eu": "https://api-eu.anex.test"}
NOT_ENABLED = {"detail": "EU data routing is not enabled for this organization. Contact us to enable it."}


@pytest.fixture(autouse=True)
def _other_region(settings):
    settings.ANEX_OTHER_REGION_URL = f"{ORIGINS['eu']}/"


@pytest.fixture
def routed(acme):
    """Acme with EU data routing."""
    organizations.route_to_eu(organization_id=acme.pk, enabled=True, actor=system("tests"), reason="asked for it")
    return acme


@pytest.fixture
def in_the_eea(settings, served):
    """This process as the API of the EEA."""
    settings.ANEX_REGION, settings.ANEX_OTHER_REGION_URL = "eu", ORIGINS["world"]
    registry.configure(
        model_id=stages.MODEL,
        base_url="http://127.0.0.1:9/v1",
        served_name=stages.MODEL,
        actor=system("tests"),
        region="eu",
    )


def create_input(api, **fields):
    return api.post("/batch/v1/inputs", {"format": "jsonl", **fields}, format="json")


def create_job(api, source: Input, **fields):
    return api.post("/batch/v1/jobs", {"model": stages.MODEL, "input_id": str(source.pk), **fields}, format="json")


def assert_sent_on(operation: str, answer, region: str) -> None:
    assert judged(operation, answer) == 421
    body = answer.json()
    assert (body["residency"], body["api"]) == (region, ORIGINS[region])
    assert ORIGINS[region] in body["detail"]
    assert set(body) == {"detail", "residency", "api"}


def test_eu_without_routing_is_403_on_either_api(api, acme, settings):
    source = make_input(acme)
    for region in ("world", "eu"):
        settings.ANEX_REGION = region
        for answer in (create_input(api, data_residency="eu"), create_job(api, source, data_residency="eu")):
            assert (answer.status_code, answer.json()) == (403, NOT_ENABLED)
    assert (Input.objects.count(), Job.objects.count()) == (1, 0)


@pytest.mark.parametrize("asked", [{}, {"data_residency": "world"}])
def test_without_routing_everything_is_world_by_default(api, acme, asked):
    created = create_input(api, **asked)
    assert created.status_code == 201
    assert Input.objects.get(pk=created.json()["id"]).region == "world"
    job = create_job(api, make_input(acme), **asked).json()
    assert api.get(f"/batch/v1/jobs/{job['id']}").json()["data_residency"] == "world"


@pytest.mark.parametrize("asked", [{}, {"data_residency": "eu"}])
def test_with_routing_the_main_api_sends_on_what_goes_to_the_eea(api, routed, asked):
    assert_sent_on("createInput", create_input(api, **asked), "eu")
    assert_sent_on("createJob", create_job(api, make_input(routed), **asked), "eu")
    assert not Job.objects.exists()


def test_with_routing_one_job_may_still_be_kept_in_the_world_region(api, routed):
    assert create_input(api, data_residency="world").status_code == 201
    assert create_job(api, make_input(routed), data_residency="world").status_code == 201


@pytest.mark.parametrize("asked", [{}, {"data_residency": "eu"}])
def test_the_api_of_the_eea_takes_it(api, routed, in_the_eea, asked):
    created = create_input(api, **asked)
    assert created.status_code == 201
    assert Input.objects.get(pk=created.json()["id"]).region == "eu"
    job = create_job(api, make_input(routed, region="eu"), **asked).json()
    assert Job.objects.get(pk=job["id"]).region == "eu"
    assert api.get(f"/batch/v1/jobs/{job['id']}").json()["data_residency"] == "eu"


def test_the_api_of_the_eea_sends_on_what_is_for_the_world(api, acme, in_the_eea):
    assert_sent_on("createInput", create_input(api), "world")
    assert_sent_on("createJob", create_job(api, make_input(acme)), "world")


@pytest.mark.parametrize("name", ["input_id", "input_s3_uri"])
def test_an_input_stored_in_the_other_region_is_422(api, routed, name):
    source = make_input(routed, region="eu")
    named = {"input_id": str(source.pk), "input_s3_uri": f"s3://bucket-in-frankfurt/{source.key}"}
    body = {"model": stages.MODEL, "data_residency": "world", name: named[name]}
    answer = api.post("/batch/v1/jobs", body, format="json")
    assert judged("createJob", answer) == 422
    assert "EU region" in answer.json()["detail"]
    assert not Job.objects.exists()


def test_an_input_and_a_result_of_the_other_region_are_sent_on(api, routed):
    source = make_input(routed, region="eu")
    assert_sent_on("getInput", api.get(f"/batch/v1/inputs/{source.pk}"), "eu")
    for job in (stages.ended(routed, region="eu"), stages.running(routed, region="eu")):
        assert_sent_on("getJobResult", api.get(f"/batch/v1/jobs/{job.pk}/result"), "eu")


def test_a_foreign_id_is_unknown_whatever_its_region(api, globex):
    source, job = make_input(globex, region="eu"), stages.ended(globex, region="eu")
    assert api.get(f"/batch/v1/inputs/{source.pk}").status_code == 404
    assert api.get(f"/batch/v1/jobs/{job.pk}/result").status_code == 404


def test_either_api_polls_approves_and_cancels_a_job(api, routed):
    failed = stages.ended(routed, Status.FAILED, region="eu", failure_code="invalid_input", has_response_format=True)
    answer = api.get(f"/batch/v1/jobs/{failed.pk}")
    assert judged("getJob", answer) == 200
    assert (answer.json()["failure_reason"], answer.json()["response_format"]) == (None, None)
    assert api.post(f"/batch/v1/jobs/{stages.quoted(routed, region='eu').pk}/approve").status_code == 200
    assert api.post(f"/batch/v1/jobs/{stages.quoted(routed, region='eu').pk}/cancel").status_code == 200


def test_a_job_of_the_eea_is_cancelled_while_it_is_estimated(api, routed):
    job = stages.submitted(routed, region="eu", status=Status.ESTIMATING)
    answer = api.post(f"/batch/v1/jobs/{job.pk}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert not job.chunks.filter(closed=False).exists()


def test_deleting_data_of_the_other_region_is_left_to_its_sweep(api, routed, settings):
    job = stages.ended(routed, region="eu", input=make_input(routed, region="eu", upload_expires_at=None))
    answer = api.delete(f"/batch/v1/jobs/{job.pk}/data")
    assert (judged("deleteJobData", answer), answer.json()["data_deleted_at"]) == (202, None)
    assert erasing.erase_due(clock.now()) == 0
    settings.ANEX_REGION = "eu"
    stored.fill(job, store("eu"))
    assert erasing.erase_due(clock.now()) == 1
    assert stored.left(store("eu")) == []


def test_where_no_other_api_is_known_the_data_is_just_not_here(api, acme, settings):
    settings.ANEX_OTHER_REGION_URL = ""
    answer = api.get(f"/batch/v1/inputs/{make_input(acme, region='eu').pk}")
    assert answer.status_code == 503
