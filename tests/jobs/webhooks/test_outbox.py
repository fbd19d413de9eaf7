"""Events are written in the transaction of what happened, once, for the endpoints that want them."""

import pytest
from django.db import IntegrityError, transaction

from anex.core.actors import system
from jobs.lifecycle import Status
from jobs.models import JobEvent, WebhookDelivery, WebhookEvent
from jobs.run import finalization
from jobs.services import approvals, cancellations, endpoints, transitions
from jobs.webhooks import EVENT_OF, EventType
from tests.factories import make_job
from tests.jobs.api import stages
from tests.jobs.run.driver import chat_line, submit, validate
from tests.jobs.webhooks.driver import ACTOR, listening

pytestmark = pytest.mark.django_db


def types(job):
    return list(WebhookEvent.objects.filter(job=job).order_by("at").values_list("type", flat=True))


def test_every_step_of_a_job_but_the_unannounced_ones_is_told_in_order(acme, receiver):
    listening(acme, receiver)
    job = submit(acme, chat_line().encode())
    transitions.record(job.pk, Status.SUBMITTED, actor="key:test")
    validate(job)
    approvals.approve(organization_id=acme.pk, job_id=job.pk, actor=ACTOR)
    job.chunks.update(closed=True)
    assert finalization.finish_rows(job.pk)
    cancelled = transitions.advance(job.pk, to=Status.DONE, actor=ACTOR)
    assert cancelled
    assert types(job) == ["submitted", "estimating", "cost_ready", "in_progress", "completed"]
    assert WebhookDelivery.objects.filter(state="pending", attempts=0).count() == 5


def test_statuses_that_are_not_told_are_cancelling_and_finalizing():
    assert set(Status) - set(EVENT_OF) == {Status.CANCELLING, Status.FINALIZING}
    assert set(EventType) - set(EVENT_OF.values()) == {EventType.TEST}


def test_refused_input_is_told_as_failed(acme, receiver):
    listening(acme, receiver)
    job = validate(submit(acme, b"no json"))
    assert (job.status, types(job)) == ("failed", ["estimating", "failed"])


def test_cancelled_quote_is_told_once(acme, receiver):
    listening(acme, receiver)
    job = stages.quoted(acme)
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=ACTOR)
    assert not transitions.advance(job.pk, to=Status.CANCELLED, actor=ACTOR)
    assert types(job) == ["cancelled"]


def test_submission_through_the_api_is_told(acme, receiver):
    listening(acme, receiver)
    job = make_job(acme)
    transitions.record(job.pk, Status.SUBMITTED, actor="key:test")
    assert types(job) == ["submitted"]


def test_step_that_is_rolled_back_is_not_told(acme, receiver):
    listening(acme, receiver)
    job = stages.quoted(acme)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        transitions.advance(job.pk, to=Status.CANCELLED, actor=system("tests"))
        raise ZeroDivisionError
    assert not types(job)
    assert not JobEvent.objects.filter(job=job).exists()


def test_database_takes_one_terminal_event_per_job(acme):
    job = stages.ended(acme)
    fields = {"organization": acme, "region": "world", "job": job}
    WebhookEvent.objects.create(type=EventType.COMPLETED, **fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        WebhookEvent.objects.create(type=EventType.CANCELLED, **fields)


def test_each_endpoint_gets_the_events_it_chose(acme, receiver):
    everything = listening(acme, receiver)
    ends = listening(acme, receiver, events=["completed", "failed", "cancelled"])
    job = stages.quoted(acme)
    cancellations.cancel(organization_id=acme.pk, job_id=job.pk, actor=ACTOR)
    other = stages.submitted(acme)
    transitions.advance(other.pk, to=Status.ESTIMATING, actor=ACTOR)
    told = WebhookDelivery.objects.values_list("endpoint_id", "event__type", "event__job_id")
    assert set(told) == {
        (everything.pk, "cancelled", job.pk),
        (ends.pk, "cancelled", job.pk),
        (everything.pk, "estimating", other.pk),
    }


def test_nothing_is_written_for_other_organizations_disabled_or_deleted_endpoints(acme, globex, receiver):
    listening(globex, receiver)
    off, gone = listening(acme, receiver), listening(acme, receiver)
    endpoints.disable(organization_id=acme.pk, endpoint_id=off.pk, actor=ACTOR)
    endpoints.delete(organization_id=acme.pk, endpoint_id=gone.pk, actor=ACTOR)
    cancellations.cancel(organization_id=acme.pk, job_id=stages.quoted(acme).pk, actor=ACTOR)
    assert not WebhookEvent.objects.exists()
