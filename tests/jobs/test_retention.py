"""The sweep of inputs: what is expired, what is deleted, what a running job keeps."""

from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection

from anex.core import clock
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Input
from jobs.services.inputs import RETENTION, UPLOAD_GRACE, UPLOAD_WINDOW
from jobs.services.retention import MARGIN, UNFINISHED, discard_unfinished, expire_inputs
from jobs.storage import store
from jobs.storage.interface import StoreUnavailable
from tests.factories import make_input, make_job, make_organization

NOW = clock.now()


@pytest.fixture
def acme(db):
    return make_organization("Acme")


def stored_input(acme, **fields) -> Input:
    source = make_input(acme, **fields)
    store().put(source.key, b"rows\n")
    return source


def old(acme) -> Input:
    return stored_input(acme, expires_at=NOW - MARGIN)


def seen(source: Input) -> tuple[str, bool, bool]:
    source.refresh_from_db()
    return source.status, source.purged_at is not None, store().stat(source.key) is not None


def test_an_input_past_its_days_is_expired_and_deleted(acme):
    source, fresh = old(acme), stored_input(acme, expires_at=NOW + timedelta(seconds=1))
    assert expire_inputs(NOW) == 1
    assert seen(source) == ("expired", True, False)
    assert seen(fresh) == ("ready", False, True)


def test_the_sweep_may_be_repeated(acme):
    source = old(acme)
    assert [expire_inputs(NOW), expire_inputs(NOW)] == [1, 0]
    source.refresh_from_db()
    assert source.purged_at == NOW


def test_a_deletion_that_was_cut_off_is_done_again(acme):
    source = old(acme)
    Input.objects.filter(pk=source.pk).update(status="expired")
    store().delete([source.key])
    assert expire_inputs(NOW) == 1
    assert seen(source) == ("expired", True, False)


def test_the_object_outlives_its_deadline_by_a_margin(acme):
    source = stored_input(acme, expires_at=NOW)
    assert expire_inputs(NOW) == 0
    assert seen(source) == ("expired", False, True)
    assert expire_inputs(NOW + MARGIN) == 1


@pytest.mark.parametrize("status", [status for status in Status if status not in TERMINAL])
def test_a_job_that_has_not_ended_keeps_its_input(acme, status):
    source = old(acme)
    job = make_job(acme, input=source, status=status)
    assert expire_inputs(NOW) == 0
    assert seen(source) == ("expired", False, True)
    type(job).objects.filter(pk=job.pk).update(status=Status.DONE)
    make_job(acme, input=source, status=Status.FAILED)
    assert expire_inputs(NOW) == 1


def test_an_upload_that_never_came_is_expired(acme):
    lapsed = make_input(acme, status="awaiting_upload", upload_expires_at=NOW - UPLOAD_GRACE)
    on_its_way = make_input(acme, status="awaiting_upload", upload_expires_at=NOW - UPLOAD_GRACE + UPLOAD_WINDOW)
    assert expire_inputs(NOW) == 0
    assert seen(lapsed) == ("expired", False, False)
    assert seen(on_its_way)[0] == "awaiting_upload"
    assert expire_inputs(NOW + MARGIN) == 1


def test_an_upload_that_landed_unseen_is_kept_its_days(acme):
    source = stored_input(acme, status="awaiting_upload", upload_expires_at=NOW - UPLOAD_GRACE)
    assert expire_inputs(NOW) == 0
    assert seen(source) == ("ready", False, True)
    assert source.expires_at == NOW + RETENTION


def test_half_written_objects_are_dropped_after_a_day():
    with pytest.raises(StoreUnavailable), store().writer("jobs/a/result") as writer:
        writer.write(b"half")
        assert discard_unfinished(clock.now() + UNFINISHED - timedelta(minutes=1)) == 0
        assert discard_unfinished(clock.now() + UNFINISHED + timedelta(minutes=1)) == 1
    assert store().stat("jobs/a/result") is None


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_delete_each_input_once(acme):
    for _ in range(20):
        old(acme)
    counts = []

    def work() -> None:
        try:
            counts.append(expire_inputs(NOW))
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == Input.objects.filter(status="expired", purged_at=NOW).count() == 20
