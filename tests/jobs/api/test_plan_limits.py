"""The batch API keeps to the organization's plan: the surface, and the longest answer (reference 004)."""

import pytest

from accounts.models import Plan
from accounts.plans import PlanTerms
from accounts.services import plans
from anex.core.actors import system
from inference import catalogue
from jobs.models import Chunk, Job
from jobs.run import estimates
from jobs.run.context import room_for_output
from tests.factories import make_input, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of

POSTS = ["/inputs", "/jobs", *(f"/jobs/{{0}}/{verb}" for verb in ("approve", "cancel", "pause", "resume", "retry"))]


def allow(**terms):
    plans.change(plan_id=Plan.objects.get().pk, terms=PlanTerms(**terms), actor=system("tests"), reason="test")


@pytest.mark.parametrize("path", POSTS)
def test_without_batch_every_post_is_403_whatever_it_names(acme, api, path):
    allow(surfaces=frozenset({"chat"}))
    scopeless = client_of(make_key(acme, scopes=frozenset({"text:write"})))
    job = stages.quoted(acme)
    for client in (api, scopeless):
        for named in (job.pk, "no-id"):
            refused = client.post(f"/batch/v1{path.format(named)}", {"model": "nothing"}, format="json")
            assert refused.status_code == 403
            assert (refused.json()["code"], refused.json()["plan"]) == ("plan_has_no_batch", "default")
    job.refresh_from_db()
    assert job.status == "cost_ready"


def test_without_batch_a_get_still_answers(acme, api):
    allow(surfaces=frozenset())
    assert api.get(f"/batch/v1/jobs/{stages.quoted(acme).pk}").status_code == 200


def test_output_above_the_plans_ceiling_is_422_naming_it(acme, api):
    allow(max_output_tokens=100)
    body = {"model": stages.MODEL, "input_id": str(make_input(acme).pk)}
    refused = api.post("/batch/v1/jobs", body | {"max_output_tokens": 101}, format="json")
    assert refused.status_code == 422
    assert "max_output_tokens is at most 100" in refused.json()["detail"]
    assert not Job.objects.exists()
    assert api.post("/batch/v1/jobs", body | {"max_output_tokens": 100}, format="json").status_code == 201


def test_estimated_cap_is_clamped_to_the_plans_ceiling(acme, api):
    allow(max_output_tokens=100)
    job = stages.submitted(acme, status="estimating", row_count=1, est_input_tokens=10, longest_row_tokens=10)
    assert room_for_output(catalogue.get(stages.MODEL), job) == 100
    sample = Chunk.objects.create(job=job, kind=Chunk.Kind.SAMPLE, index=0, row_count=1, closed=True)
    sample.parts.create(
        key="p",
        cost_nano=0,
        size_bytes=1,
        success_rows=1,
        error_rows=0,
        format_error_rows=0,
        truncated_rows=0,
        input_tokens=10,
        cached_tokens=0,
        output_tokens=99,
        lengths=[[99, 0, 0]],
    )
    estimates.finish_sample(job.pk)
    job.refresh_from_db()
    assert (job.status, job.max_output_tokens, job.est_output_tokens) == ("cost_ready", 100, 100)
