"""POST /jobs/{id}/approve (reference 001, approve a job; reference 003, approveJob)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from accounts.models import AuditEvent
from anex.core import clock
from anex.core.money import cents_to_nano
from billing.selectors import balances
from jobs.models import JobEvent
from jobs.services import doorbell
from tests.factories import KeyInHand, grant_credits, make_key
from tests.jobs.api import stages
from tests.jobs.api.conftest import client_of


def approve(api, job):
    return api.post(f"/batch/v1/jobs/{job.pk}/approve")


def test_holds_the_quote_and_starts_the_rows(api, acme, key: KeyInHand, django_capture_on_commit_callbacks):
    job = stages.quoted(acme)
    before = balances.get(acme.pk)
    with django_capture_on_commit_callbacks() as callbacks:
        answer = approve(api, job)
    assert (answer.status_code, answer.json()) == (200, {"id": str(job.pk), "status": "in_progress"})
    after = balances.get(acme.pk)
    assert after.held_nano == before.held_nano + cents_to_nano(72)
    assert after.balance_nano == before.balance_nano
    job.refresh_from_db()
    assert (job.status, job.approved_at is not None) == ("in_progress", True)
    assert doorbell._send in callbacks


def test_records_which_key_approved(api, acme, key: KeyInHand):
    job = stages.quoted(acme)
    approve(api, job)
    event = JobEvent.objects.get(job=job)
    assert (event.type, event.actor) == ("in_progress", f"key:{key.caller.key_id}")
    audit = AuditEvent.objects.get(action="job.approved")
    assert (audit.organization_id, audit.target, audit.actor_id) == (acme.pk, str(job.pk), key.caller.key_id)


def test_second_approval_is_409_and_holds_nothing_more(api, acme):
    job = stages.quoted(acme)
    approve(api, job)
    held = balances.get(acme.pk).held_nano
    again = approve(api, job)
    assert again.status_code == 409
    assert again["x-should-retry"] == "false"
    assert balances.get(acme.pk).held_nano == held


def test_too_small_a_balance_is_402_and_the_job_can_be_approved_after_a_top_up(globex):
    grant_credits(globex, 71)
    api, job = client_of(make_key(globex)), stages.quoted(globex)
    refused = approve(api, job)
    assert refused.status_code == 402
    assert refused["x-should-retry"] == "false"
    job.refresh_from_db()
    assert (job.status, job.approved_at) == ("cost_ready", None)
    assert balances.get(globex.pk).held_nano == 0
    assert not JobEvent.objects.filter(job=job).exists()
    grant_credits(globex, 1)
    assert approve(api, job).status_code == 200


def test_a_lapsed_estimate_is_409_and_cancels_the_job(api, acme):
    job = stages.quoted(acme, approval_expires_at=clock.now() - timedelta(seconds=1))
    assert approve(api, job).status_code == 409
    job.refresh_from_db()
    assert (job.status, job.stop_reason, job.charge_cents) == ("cancelled", "approval_expired", 0)
    assert balances.get(acme.pk).held_nano == 0
    assert not job.chunks.filter(closed=False).exists()


@pytest.mark.django_db(transaction=True)
def test_twenty_approvals_at_once_spend_a_balance_only_once(globex):
    grant_credits(globex, 72)
    key = make_key(globex)
    jobs = [stages.quoted(globex) for _ in range(20)]

    def one(job) -> int:
        try:
            return approve(client_of(key), job).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        answers = sorted(pool.map(one, jobs))
    assert answers == [200] + [402] * 19
    assert balances.get(globex.pk).held_nano == cents_to_nano(72)


@pytest.mark.django_db(transaction=True)
def test_twenty_approvals_of_one_job_hold_its_quote_once(acme, key: KeyInHand):
    job = stages.quoted(acme)

    def one(_: int) -> int:
        try:
            return approve(client_of(key), job).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        answers = sorted(pool.map(one, range(20)))
    assert answers == [200] + [409] * 19
    assert balances.get(acme.pk).held_nano == cents_to_nano(72)
