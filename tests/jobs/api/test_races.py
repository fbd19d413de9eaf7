"""Calls that race on real Postgres: whoever is first, there is one outcome, one hold and one settlement."""

from collections.abc import Callable
from functools import partial
from threading import Barrier, Thread

import pytest
from django.db import connections

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import AnexError
from billing import price_cards
from billing.models import Hold, Transfer
from billing.selectors import balances
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Chunk, Job, JobEvent, WebhookDelivery, WebhookEndpoint, WebhookEvent
from jobs.run.control import run_control
from jobs.run.failures import stop_rows
from jobs.run.finalization import finish_rows
from jobs.run.problems import Problem
from jobs.services import approvals, cancellations, deletions, erasing, pauses, retention, submissions, sweeps
from jobs.services.submissions import SubmitOptions
from jobs.storage import store
from jobs.webhooks import EVENT_OF, TERMINAL_EVENTS
from tests.factories import make_input
from tests.jobs import stored
from tests.jobs.api import stages
from tests.jobs.run import driver

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 8
ACTOR = system("tests")


@pytest.fixture(autouse=True)
def endpoint(acme) -> WebhookEndpoint:
    """Somebody who wants to be told of every step."""
    return WebhookEndpoint.objects.create(organization=acme, url="https://source.test/hook", created_by=str(ACTOR))


def race(*calls: Callable[[], object]) -> list[object]:
    """What each call returned or was refused with; all begin at the same moment, each with its own connection."""
    outcomes: list[object] = [None] * len(calls)
    start = Barrier(len(calls))

    def run(place: int) -> None:
        start.wait()
        try:
            outcomes[place] = calls[place]()
        except AnexError as error:
            outcomes[place] = error
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def of(job: Job, verb: Callable[..., object]) -> Callable[[], object]:
    return lambda: verb(organization_id=job.organization_id, job_id=job.pk, actor=ACTOR)


def refused(outcomes: list[object]) -> list[int]:
    return sorted(outcome.status for outcome in outcomes if isinstance(outcome, AnexError))


def quoted(acme: Organization) -> Job:
    job = stages.quoted(acme, prices=price_cards.current(stages.MODEL).frozen())
    store().put(job.input.key, b"rows\n")
    return job


def finalizing(acme: Organization, status: Status = Status.FINALIZING) -> tuple[Job, Callable[[], object]]:
    """A job whose ten answered rows are about to be merged, and the worker's step that does it."""
    job = stages.running(acme, prices=price_cards.current(stages.MODEL).frozen(), status=status)
    store().put(stages.part(job).key, b"".join(b'%d\t{"custom_id":"%d"}\n' % (row, row) for row in range(10)))
    store().put(job.input.key, b"rows\n")
    Job.objects.filter(pk=job.pk).update(stop_reason="cancelled" if status is Status.CANCELLING else "")
    Chunk.objects.create(job=job, kind=Chunk.Kind.FINALIZE, index=0)
    claim = driver.claim_one(driver.HandLease(), "finalize")
    assert claim is not None
    return job, lambda: run_control(claim)


def assert_books_agree(job: Job) -> Job:
    """At most one hold, settled exactly when the job is over, one line for its charge, one end, told once."""
    job = Job.objects.get(pk=job.pk)
    holds = Hold.objects.filter(source=f"job:{job.pk}")
    settled = holds.exclude(settled_at=None)
    ended = JobEvent.objects.filter(job=job, type__in=TERMINAL).count()
    assert holds.count() <= 1
    assert JobEvent.objects.filter(job=job, type="in_progress").count() <= 1
    told = WebhookEvent.objects.filter(job=job, type__in=TERMINAL_EVENTS)
    assert WebhookDelivery.objects.filter(event__in=told).count() == told.count() == ended
    if job.status in TERMINAL:
        assert (ended, settled.count()) == (1, holds.count())
        assert told.get().type == EVENT_OF[Status(job.status)]
        charged = Transfer.objects.filter(source=f"job:{job.pk}:capture")
        assert charged.count() == (1 if job.charge_cents else 0)
        assert sum(line.amount_nano for line in charged) == (job.charge_cents or 0) * 10_000_000
    else:
        assert (ended, settled.count()) == (0, 0)
    assert balances.get(job.organization_id).held_nano == sum(
        hold.amount_nano for hold in Hold.objects.filter(settled_at=None)
    )
    return job


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_approve_and_approve(acme, _round):
    job = quoted(acme)
    assert refused(race(of(job, approvals.approve), of(job, approvals.approve))) == [409]
    assert assert_books_agree(job).status == "in_progress"


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_approve_and_cancel(acme, _round):
    job = quoted(acme)
    outcomes = race(of(job, approvals.approve), of(job, cancellations.cancel))
    assert refused(outcomes) in ([], [409])
    job = assert_books_agree(job)
    assert (job.status, job.charge_cents) == ("cancelled", 0)
    assert isinstance(outcomes[0], AnexError) is (job.approved_at is None)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_approve_and_delete(acme, _round):
    job = quoted(acme)
    assert refused(race(of(job, approvals.approve), of(job, deletions.delete_data))) in ([], [409])
    job = assert_books_agree(job)
    assert (job.status, job.data_deleted_at is not None) == ("cancelled", True)
    assert stored.left() == []


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("verb", [approvals.approve, cancellations.cancel, deletions.delete_data])
def test_two_sweeps_and_a_decision_about_a_lapsed_quote(acme, verb, _round):
    job = quoted(acme)
    Job.objects.filter(pk=job.pk).update(approval_expires_at=clock.now())
    race(of(job, verb), *[lambda: sweeps.cancel_unapproved(clock.now())] * 2)
    job = assert_books_agree(job)
    assert (job.status, job.charge_cents) == ("cancelled", 0)


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("verb", [pauses.pause, cancellations.cancel, deletions.delete_data])
def test_the_last_row_and_the_loss_of_the_input_and_a_wish(acme, verb, _round):
    """Two workers move the job on, each for its reason, while its owner stops it."""
    job = quoted(acme)
    approvals.approve(organization_id=acme.pk, job_id=job.pk, actor=ACTOR)
    part = stages.part(job)
    store().put(part.key, b"".join(b'%d\t{"custom_id":"%d"}\n' % (row, row) for row in range(10)))
    Chunk.objects.filter(job=job).update(closed=True)
    lost = Problem("input_gone", 0, "Gone.")
    race(lambda: finish_rows(job.pk), lambda: stop_rows(job.pk, store(), lost), of(job, verb))
    claim = driver.claim_one(driver.HandLease(), "finalize")
    assert claim is not None
    run_control(claim)
    job = assert_books_agree(job)
    assert (job.status in TERMINAL, job.paused, job.result_rows) == (True, False, 10)
    assert (job.data_deleted_at is not None) is (verb is deletions.delete_data)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_cancel_and_the_last_row(acme, _round):
    """The job's rows are all closed: a worker moves it to finalizing while its owner cancels it."""
    job = quoted(acme)
    approvals.approve(organization_id=acme.pk, job_id=job.pk, actor=ACTOR)
    stages.part(job)
    Chunk.objects.filter(job=job).update(closed=True)
    outcomes = race(of(job, cancellations.cancel), lambda: finish_rows(job.pk))
    job = assert_books_agree(job)
    assert (job.status, refused(outcomes)) in (("cancelling", []), ("finalizing", [409]))
    assert Chunk.objects.filter(job=job, kind="finalize").count() == 1


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("status", [Status.FINALIZING, Status.CANCELLING])
def test_cancel_and_finish(acme, status, _round):
    job, finish = finalizing(acme, status)
    outcomes = race(of(job, cancellations.cancel), finish)
    assert refused(outcomes) in ([409], []) if status is Status.CANCELLING else [409]
    job = assert_books_agree(job)
    assert job.status == ("done" if status is Status.FINALIZING else "cancelled")
    assert (job.result_rows, job.charge_cents > 0) == (10, True)


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("status", [Status.FINALIZING, Status.CANCELLING])
def test_delete_and_finish(acme, status, _round):
    job, finish = finalizing(acme, status)
    assert refused(race(of(job, deletions.delete_data), finish)) == []
    job = assert_books_agree(job)
    assert (job.status in TERMINAL, job.result_rows, job.data_deleted_at is not None) == (True, 10, True)
    assert [key for key in stored.left() if str(job.pk) in key or key == job.input.key] == []


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("status", [Status.FINALIZING, Status.CANCELLING])
def test_cancel_and_delete_and_finish_and_sweep(acme, status, _round):
    job, finish = finalizing(acme, status)
    race(of(job, cancellations.cancel), of(job, deletions.delete_data), finish, lambda: erasing.erase_due(clock.now()))
    erasing.erase_due(clock.now())
    job = assert_books_agree(job)
    assert (job.result_rows, job.data_deleted_at is not None) == (10, True)
    assert [key for key in stored.left() if str(job.pk) in key or key == job.input.key] == []


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_finish_and_finish(acme, _round):
    """Two workers merge the same job: one of them was silent for a lease and comes back."""
    job, finish = finalizing(acme)
    Chunk.objects.filter(job=job, kind="finalize").update(epoch=None)
    again = driver.claim_one(driver.HandLease(), "finalize")
    race(finish, lambda: run_control(again))
    job = assert_books_agree(job)
    assert [key for key in stored.left() if "result" in key] == [job.result_key]


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_delete_and_delete_and_a_sweep(acme, _round):
    job = stored.ended(acme)
    deletes = [of(job, deletions.delete_data)] * 2
    first, second, _ = race(*deletes, lambda: erasing.erase_due(clock.now()))
    job.refresh_from_db()
    assert first.data_deleted_at == second.data_deleted_at == job.data_deleted_at is not None
    assert stored.left() == []


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("by", ["sweep", "deletion"])
def test_submit_and_the_end_of_its_input(acme, by, _round):
    """Either the input is refused, or the job that was made of it keeps the file."""
    source = make_input(acme, upload_expires_at=None)
    other = stages.ended(acme, input=source, result_key="")
    store().put(source.key, b"rows\n")
    options = SubmitOptions(model_id=stages.MODEL, row=submissions.RowOptions(max_output_tokens=16))
    if by == "sweep":
        type(source).objects.filter(pk=source.pk).update(expires_at=clock.now() - retention.MARGIN)
    ends = {"sweep": lambda: retention.expire_inputs(clock.now()), "deletion": of(other, deletions.delete_data)}
    submit = partial(submissions.submit, organization_id=acme.pk, options=options, actor=ACTOR, input_id=source.pk)
    made, _ = race(submit, ends[by])
    assert isinstance(made, Job) is (store().stat(source.key) is not None)
    assert isinstance(made, Job) or (made.status, made.code) == (409, "input_expired")
