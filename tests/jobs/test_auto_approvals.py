"""Auto-approve: a quote that the rule covers starts the job in the transaction of the quote."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection, transaction
from django.test import Client

from accounts.models import AuditEvent
from accounts.services import organizations
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import InvalidRequest
from anex.core.money import cents_to_nano
from billing.models import Hold, KeySpend
from jobs.models import AutoApproval, Job, JobEvent
from jobs.services import auto_approvals
from tests.factories import actor_of, add_member, grant_credits, make_key, make_organization, make_user
from tests.jobs.api import stages
from tests.jobs.run.driver import approve, chat_line, submit, validate


@pytest.fixture(autouse=True)
def _own_store(settings, tmp_path):
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"


@pytest.fixture
def acme(db):
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


def configure(organization, **changes):
    terms = {"enabled": True, "max_job_cents": None, "max_day_cents": None} | changes
    auto_approvals.configure(organization_id=organization.pk, actor=actor_of(make_user("ada")), **terms)


def quoted(organization):
    """A job taken from its submission to its quote, which is one cent."""
    return validate(submit(organization, chat_line().encode() + b"\n"))


def consider(job, now=None):
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job.pk)
        return auto_approvals.consider(job.pk, now=now or clock.now())


def test_nothing_is_approved_before_the_rule_is_on(acme):
    assert quoted(acme).status == "cost_ready"
    configure(acme, enabled=False)
    assert quoted(acme).status == "cost_ready"


def test_covered_quote_is_approved_by_the_platform_and_held(acme):
    configure(acme)
    job = quoted(acme)
    assert (job.status, job.quote_cents) == ("in_progress", 1)
    assert Hold.objects.get(source=f"job:{job.pk}").amount_nano == 10_000_000
    steps = list(JobEvent.objects.filter(job=job).order_by("pk").values_list("type", "actor"))
    assert steps[-2:] == [("cost_ready", "system:estimate"), ("in_progress", "system:auto_approve")]
    assert AuditEvent.objects.get(action="job.approved").actor_id == "auto_approve"


def test_ceiling_of_a_job_is_kept_to_the_cent(acme):
    configure(acme, max_job_cents=72)
    assert consider(stages.quoted(acme, quote_cents=72))
    assert not consider(stages.quoted(acme, quote_cents=73))


def test_ceiling_of_a_day_adds_up_what_was_approved_automatically(acme):
    configure(acme, max_day_cents=150)
    assert consider(stages.quoted(acme, quote_cents=72))
    assert consider(stages.quoted(acme, quote_cents=72))
    assert not consider(stages.quoted(acme, quote_cents=72))
    assert consider(stages.quoted(acme, quote_cents=6))


def test_new_day_begins_at_midnight_utc(acme):
    configure(acme, max_day_cents=72)
    assert consider(stages.quoted(acme, quote_cents=72))
    tomorrow = clock.now() + timedelta(days=1)
    assert consider(stages.quoted(acme, quote_cents=72), now=tomorrow)


def test_jobs_approved_by_people_do_not_count(acme):
    configure(acme, max_day_cents=72)
    approve(stages.quoted(acme, quote_cents=72))
    assert consider(stages.quoted(acme, quote_cents=72))


def test_day_of_another_organization_does_not_count(acme):
    globex = make_organization("Globex")
    grant_credits(globex)
    for organization in (acme, globex):
        configure(organization, max_day_cents=72)
        assert consider(stages.quoted(organization, quote_cents=72))


def test_quote_the_balance_does_not_cover_waits(acme):
    configure(acme)
    job = stages.quoted(acme, quote_cents=10_001)
    assert not consider(job)
    job.refresh_from_db()
    assert job.status == "cost_ready"
    assert not Hold.objects.exists()


def test_suspended_organization_approves_nothing(acme):
    configure(acme)
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    assert quoted(acme).status == "cost_ready"


@pytest.mark.django_db(transaction=True)
def test_jobs_quoted_at_once_share_one_day():
    acme = make_organization("Acme")
    grant_credits(acme)
    configure(acme, max_day_cents=200)
    jobs = [stages.quoted(acme, quote_cents=72) for _ in range(8)]
    barrier = Barrier(8)

    def run(job):
        try:
            barrier.wait(timeout=30)
            return consider(job)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(run, jobs)) == 2


@pytest.mark.parametrize("ceiling", ["max_job_cents", "max_day_cents"])
@pytest.mark.parametrize("cents", [0, -1, 2**64, float("nan"), 1e308])
def test_absurd_ceiling_is_refused(acme, ceiling, cents):
    with pytest.raises(InvalidRequest):
        configure(acme, **{ceiling: cents})
    assert not AutoApproval.objects.exists()


def test_page_sets_the_rule_and_leaves_an_audit_event(acme):
    ada = Client()
    ada.force_login(make_user("ada"))
    answer = ada.post("/jobs/auto-approve", {"enabled": "on", "max_job": "5", "max_day": ""}, follow=True)
    assert "Auto-approve is on." in answer.content.decode()
    row = AutoApproval.objects.get()
    assert (row.enabled, row.max_job_cents, row.max_day_cents) == (True, 500, None)
    assert AuditEvent.objects.get(action="organization.auto_approve").reason == "$5.00 a job, any a day"
    assert 'value="5' in ada.get("/jobs/auto-approve").content.decode()
    assert ada.post("/jobs/auto-approve", {"enabled": "on", "max_job": "0"}).status_code == 400
    ada.post("/jobs/auto-approve", {})
    assert not AutoApproval.objects.get().enabled


def test_member_sees_the_rule_and_does_not_change_it(acme):
    configure(acme, max_job_cents=500)
    bob = Client()
    bob.force_login(add_member(acme, "bob"))
    assert "$5.00" in bob.get("/jobs/auto-approve").content.decode()
    assert bob.post("/jobs/auto-approve", {}).status_code == 403
    assert AutoApproval.objects.get().enabled


def test_a_job_counts_against_the_key_that_submitted_it_and_waits_at_its_ceiling(acme):
    configure(acme)
    key = make_key(acme, daily_ceiling_cents=10).caller.key_id
    jobs = [stages.quoted(acme, created_by=f"key:{key}", quote_cents=6) for _ in range(2)]
    assert [consider(job) for job in jobs] == [True, False]
    for job in jobs:
        job.refresh_from_db()
    assert [job.status for job in jobs] == ["in_progress", "cost_ready"]
    assert KeySpend.objects.get(key_id=key).day_nano == cents_to_nano(6)
    assert Hold.objects.filter(settled_at=None).count() == 1
