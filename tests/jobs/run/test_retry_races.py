"""Retries that race with the end of what they read: a whole input or a clear refusal, and nothing is left behind."""

from collections.abc import Callable

import pytest

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import AnexError
from jobs.lifecycle import TERMINAL
from jobs.models import Input, Job
from jobs.run.control import run_control
from jobs.services import cancellations, deletions, erasing, retention, retries
from jobs.storage import store
from tests.jobs import stored
from tests.jobs.api.test_races import of, race
from tests.jobs.run.driver import HandLease, claim_one, validate
from tests.jobs.run.finished import finish
from tests.jobs.run.test_retries import lines_of, own_input, quoted, retry

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("served")]
ROUNDS = 6
LINES = lines_of(6)
FAILED = {0: "error", 1: "success", 2: "error", 3: "success", 4: "format_error", 5: "success"}


@pytest.fixture
def original(acme: Organization) -> Job:
    return finish(quoted(acme, LINES), FAILED)


def check(job: Job) -> Callable[[], object]:
    """The worker's step that copies the rows of a retry and checks them."""
    claim = claim_one(HandLease(), "validate")
    assert claim is not None
    assert claim.job_id == job.pk
    return lambda: run_control(claim)


def assert_whole_or_failed(job: Job) -> None:
    job.refresh_from_db()
    if job.status == "cost_ready":
        assert own_input(job) == LINES[0] + LINES[2] + LINES[4]
    else:
        assert (job.status, job.failure_code) == ("failed", "invalid_input")


def assert_nothing_is_left_once_all_is_deleted(acme: Organization) -> None:
    for job in Job.objects.filter(organization=acme):
        deletions.delete_data(organization_id=acme.pk, job_id=job.pk, actor=system("test"))
    erasing.erase_due(clock.now())
    retention.expire_inputs(clock.now() + 2 * retention.MARGIN)
    assert not Job.objects.exclude(status__in=TERMINAL).exists()
    assert stored.left() == []


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_retry_and_the_deletion_of_its_original(acme, original, _round):
    made, _ = race(of(original, retries.retry), of(original, deletions.delete_data))
    if isinstance(made, Job):
        assert_whole_or_failed(validate(made))
    else:
        assert made.status in (409, 410)
    assert_nothing_is_left_once_all_is_deleted(acme)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_copying_of_rows_and_the_deletion_of_the_original(acme, original, _round):
    again = retry(original)
    race(check(again), of(original, deletions.delete_data))
    assert_whole_or_failed(again)
    assert_nothing_is_left_once_all_is_deleted(acme)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_copying_of_rows_and_the_end_of_the_inputs_days(acme, original, _round):
    again = retry(original)
    Input.objects.filter(pk=original.input_id).update(expires_at=clock.now() - retention.MARGIN)
    race(check(again), lambda: retention.expire_inputs(clock.now()))
    again.refresh_from_db()
    assert again.status == "cost_ready"
    assert_whole_or_failed(again)
    assert_nothing_is_left_once_all_is_deleted(acme)


@pytest.mark.parametrize("_round", range(ROUNDS))
@pytest.mark.parametrize("verb", [cancellations.cancel, deletions.delete_data])
def test_copying_of_rows_and_the_end_of_the_retry(acme, original, verb, _round):
    again = retry(original)
    outcomes = race(check(again), of(again, verb))
    again.refresh_from_db()
    late = isinstance(outcomes[1], AnexError)
    assert again.status == "cancelled" or (late and again.status == "cost_ready")
    assert_nothing_is_left_once_all_is_deleted(acme)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_two_retries_and_two_workers(acme, original, _round):
    made = race(of(original, retries.retry), of(original, retries.retry))
    steps = []
    for _ in made:
        claim = claim_one(HandLease(), "validate")
        steps.append(lambda claim=claim: run_control(claim))
    race(*steps)
    for job in made:
        job.refresh_from_db()
        assert job.status == "cost_ready"
        assert own_input(job) == LINES[0] + LINES[2] + LINES[4]
    assert len({job.input_id for job in made}) == 2
    assert_nothing_is_left_once_all_is_deleted(acme)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_retry_of_a_retry_whose_data_is_deleted_meanwhile(acme, original, _round):
    first = finish(validate(retry(original)), {0: "error", 1: "success", 2: "success"})
    second = retry(first)
    race(check(second), of(first, deletions.delete_data))
    second.refresh_from_db()
    if second.status == "cost_ready":
        assert own_input(second) == LINES[0]
    else:
        assert (second.status, second.failure_code) == ("failed", "invalid_input")
    assert_nothing_is_left_once_all_is_deleted(acme)


def test_deleting_a_retry_that_never_ran_takes_nothing_from_its_original(acme, original):
    again = retry(original)
    deletions.delete_data(organization_id=acme.pk, job_id=again.pk, actor=system("test"))
    original.refresh_from_db()
    assert original.input.status == "ready"
    assert store().stat(original.input.key) is not None
    assert_whole_or_failed(validate(retry(original)))
