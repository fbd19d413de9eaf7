"""Which steps of a job raise an alert, in the transaction of the step, and whom it names."""

import pytest
from django.core import mail
from django.db import transaction

from accounts.models import Alert
from accounts.services import alerts
from anex.core import clock
from anex.core.actors import system
from jobs.lifecycle import Status
from jobs.services import approvals, cancellations
from jobs.services.transitions import advance
from tests.factories import actor_of, add_member, grant_credits, make_key, make_organization
from tests.jobs import batches
from tests.jobs.api import stages

BY = system("tests")


@pytest.fixture
def acme(db):
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


def priced(organization, **fields):
    """A job that reached its quote by the step that every quote takes."""
    job = stages.quoted(organization, **({"status": Status.ESTIMATING} | fields))
    assert advance(job.pk, to=Status.COST_READY, actor=BY)
    return job


def test_batch_that_waits_is_told_that_it_starts_by_itself(acme):
    job = batches.make(stages.quoted(acme, status=Status.ESTIMATING))
    advance(job.pk, to=Status.COST_READY, actor=BY)
    alerts.send_due(clock.now())
    assert "starts by itself" in mail.outbox[0].body
    assert "Approve" not in mail.outbox[0].body


def kinds():
    return list(Alert.objects.order_by("pk").values_list("kind", flat=True))


def test_job_that_waits_is_told_with_its_price_to_owners_and_who_submitted(acme):
    mary = add_member(acme, "mary")
    job = priced(acme, created_by=str(actor_of(mary)))
    alerts.send_due(clock.now())
    [sent] = mail.outbox
    assert sorted(sent.to) == ["ada@example.com", "mary@example.com"]
    assert "$0.72" in sent.body
    assert f"/jobs/{job.pk}" in sent.body


def test_job_submitted_by_a_key_is_told_to_owners_alone(acme):
    priced(acme, created_by=str(make_key(acme).caller.actor))
    alerts.send_due(clock.now())
    assert mail.outbox[0].to == ["ada@example.com"]


def test_job_approved_or_cancelled_before_the_email_left_asks_for_nothing(acme):
    first, second = priced(acme), priced(acme)
    assert kinds() == ["job_awaiting"] * 2
    approvals.approve(organization_id=acme.pk, job_id=first.pk, actor=BY)
    cancellations.cancel(organization_id=acme.pk, job_id=second.pk, actor=BY)
    assert kinds() == []


@pytest.mark.parametrize(("status", "kind"), [(Status.DONE, "job_done"), (Status.FAILED, "job_failed")])
def test_end_of_a_job_is_told_once(acme, status, kind):
    job = stages.quoted(acme, status=Status.FINALIZING, success_rows=90, error_rows=3, charge_cents=41)
    assert [advance(job.pk, to=status, actor=BY) for _ in range(2)] == [True, False]
    assert kinds() == [kind]
    alerts.send_due(clock.now())
    assert "90" in mail.outbox[0].body
    assert "$0.41" in mail.outbox[0].body


def test_step_that_is_rolled_back_tells_nothing(acme):
    job = stages.quoted(acme, status=Status.FINALIZING)
    with pytest.raises(RuntimeError), transaction.atomic():
        advance(job.pk, to=Status.DONE, actor=BY)
        raise RuntimeError
    assert kinds() == []


def test_other_steps_are_not_told(acme):
    job = stages.submitted(acme)
    advance(job.pk, to=Status.ESTIMATING, actor=BY)
    running = stages.running(acme)
    advance(running.pk, to=Status.CANCELLING, actor=BY)
    advance(running.pk, to=Status.CANCELLED, actor=BY)
    assert kinds() == []
