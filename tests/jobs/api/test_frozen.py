"""The API while staff has frozen it (reference 001, errors; reference 003, FrozenError)."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Freeze
from accounts.services import freezes
from anex.core.actors import system
from anex.core.errors import Conflict, InvalidRequest, NotFound, Unavailable
from jobs.run import claims
from jobs.services import uploads
from tests.contract import described
from tests.contract.reference import ANSWERS
from tests.factories import make_input, make_user, staff_browser
from tests.jobs.api import stages
from tests.jobs.api.test_reference_schemas import ERROR, judged, validator
from tests.jobs.run import driver

JOB = "/batch/v1/jobs/{0}"
CALLS = [
    ("createJob", "post", "/batch/v1/jobs"),
    ("getJob", "get", JOB),
    ("approveJob", "post", f"{JOB}/approve"),
    ("cancelJob", "post", f"{JOB}/cancel"),
    ("deleteJobData", "delete", f"{JOB}/data"),
    ("listJobs", "get", "/batch/v1/jobs"),
    ("pauseJob", "post", f"{JOB}/pause"),
    ("resumeJob", "post", f"{JOB}/resume"),
    ("retryJob", "post", f"{JOB}/retry"),
]


def switch(*, frozen: bool, surface: str = "batch") -> None:
    freezes.switch(surface=surface, frozen=frozen, actor=system("tests"), reason="a migration")


@pytest.fixture
def frozen(db):
    switch(frozen=True)


@pytest.mark.parametrize(("operation", "method", "path"), CALLS)
def test_what_changes_or_reads_a_job_is_503(api, acme, frozen, operation, method, path):
    job = stages.quoted(acme)
    answer = getattr(api, method)(path.format(job.pk), format="json")
    assert described.judged(operation, answer) == 503
    if operation in ANSWERS:
        judged(operation, answer)
    assert (answer.json()["error"], set(answer.json())) == ("frozen", {"error", "message"})
    assert "frozen for maintenance: a migration." in answer.json()["message"]
    assert answer["Retry-After"] == "60"
    job.refresh_from_db()
    assert job.status == "cost_ready"


def test_creating_an_input_says_so_in_both_forms(api, acme, frozen):
    answer = api.post("/batch/v1/inputs", {"format": "jsonl"}, format="json")
    assert answer.status_code == 503
    validator(ERROR).validate(answer.json())
    assert (answer.json()["error"], answer.json()["message"]) == ("frozen", answer.json()["detail"])


def test_where_only_uploads_are_frozen_no_surface_takes_a_file_and_all_else_goes_on(api, acme):
    ada = Client()
    ada.force_login(make_user("ada"))
    switch(frozen=True, surface="uploads")
    given = [{"format": "jsonl"}, {"source_url": "https://source.test/rows.jsonl"}]
    answers = [api.post("/batch/v1/inputs", body, format="json") for body in given]
    answers += [api.post("/v1/uploads", {"content_type": "image/png"}, format="json"), ada.post("/jobs/new/upload")]
    assert [answer.status_code for answer in answers] == [503] * 4
    assert all("files is frozen for maintenance: a migration." in answer.content.decode() for answer in answers)
    for answer in answers[:2]:
        validator(ERROR).validate(answer.json())
    with pytest.raises(Unavailable, match="a migration"):
        uploads.begin(organization_id=acme.pk)
    job = stages.quoted(acme)
    assert api.post(f"{JOB.format(job.pk)}/cancel").status_code == 200
    switch(frozen=False, surface="uploads")
    assert api.post("/batch/v1/inputs", given[0], format="json").status_code == 201


def test_an_inputs_status_and_a_result_are_still_answered(api, acme, frozen):
    assert api.get(f"/batch/v1/inputs/{make_input(acme).pk}").status_code == 200
    assert api.get(f"/batch/v1/jobs/{stages.ended(acme).pk}/result").status_code == 200


def test_a_stranger_is_told_nothing_of_it(client, frozen):
    assert client.get(JOB.format(1), HTTP_AUTHORIZATION="Bearer sk-unknown").status_code == 401


def test_workers_go_on(acme, frozen):
    job = stages.running(acme)
    found = claims.claim(driver.HandLease(), region="world", kinds=["rows"], models=[stages.MODEL], limit=9)
    assert {claim.job_id for claim in found} == {job.pk}


def test_opened_again_it_answers_at_once(api, acme, frozen):
    switch(frozen=False)
    assert api.get(JOB.format(stages.quoted(acme).pk)).status_code == 200


def test_the_switch_refuses_what_makes_no_sense(frozen):
    for arguments, error in (
        ({"surface": "batch", "frozen": True, "reason": "again"}, Conflict),
        ({"surface": "batch", "frozen": False, "reason": " "}, InvalidRequest),
        ({"surface": "telephone", "frozen": True, "reason": "r"}, NotFound),
    ):
        with pytest.raises(error):
            freezes.switch(actor=system("tests"), **arguments)


def test_staff_freezes_and_opens_it_with_a_reason(db):
    browser, row = staff_browser(), Freeze.objects.get_or_create(pk="batch")[0]
    for name, is_frozen in (("freeze", True), ("open_again", False)):
        page = reverse(f"admin:accounts_freeze_{name}", args=[row.pk])
        assert browser.post(page, {"reason": "a migration"}).status_code == 302
        row.refresh_from_db()
        assert (row.frozen_at is not None) is is_frozen
    actions = AuditEvent.objects.filter(target="batch").order_by("pk").values_list("action", "reason", "actor_kind")
    assert list(actions) == [("surface.freeze", "a migration", "staff"), ("surface.open", "a migration", "staff")]
