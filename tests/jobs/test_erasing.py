"""Once its days are over, nothing of a job is left in either store, whatever sweeps are late, cut off or doubled."""

import contextlib
from datetime import timedelta
from threading import Thread

import pytest
from django.conf import settings
from django.db import connection

from anex.core import clock
from jobs import storage
from jobs.lifecycle import TERMINAL, Status
from jobs.models import Input, Job
from jobs.services import erasing, inputs, retention
from jobs.services.erasing import LATE_WRITES
from jobs.storage import keys, store
from jobs.storage.interface import StoreUnavailable
from jobs.storage.local import LocalStore
from tests.factories import make_input
from tests.jobs import stored
from tests.jobs.api import stages
from tests.jobs.storage.conftest import s3_store, s3_url  # noqa: F401

NOW = clock.now()
DAY = timedelta(days=1)


@pytest.fixture(params=["local", "s3"])
def objects(request, monkeypatch):
    """Each store in turn, empty, as the one the platform uses."""
    if request.param == "s3":
        bucket = request.getfixturevalue("s3_store")
        bucket.delete([found.key for found in bucket.list("")])
        monkeypatch.setattr(settings, "ANEX_S3_BUCKET", bucket.bucket)
        monkeypatch.setattr(storage, "_s3", lambda *_: bucket)
    return store()


def test_nothing_of_a_job_past_its_days_is_left(acme, objects):
    due, fresh = stored.ended(acme, data_expires_at=NOW), stored.ended(acme, data_expires_at=NOW + DAY)
    mine = {key for key in stored.left(objects) if str(due.pk) in key} | {due.input.key}
    before = set(stored.left(objects))
    assert len(mine) == 6
    assert erasing.erase_due(NOW) == 1
    assert set(stored.left(objects)) == before - mine
    due.refresh_from_db()
    fresh.refresh_from_db()
    assert (due.data_deleted_at is not None, fresh.data_deleted_at) == (True, None)


def test_more_objects_than_are_deleted_in_one_call_are_deleted(acme, objects, monkeypatch):
    monkeypatch.setattr("jobs.storage.s3.DELETE_BATCH", 2)
    stored.ended(acme, data_expires_at=NOW)
    erasing.erase_due(NOW)
    assert stored.left(objects) == []


def test_a_late_write_is_found_by_a_second_look(acme, objects):
    job = stored.ended(acme, data_expires_at=NOW)
    erasing.erase_due(NOW)
    late = objects.put(keys.part(job.pk, 7), b"late\n").key
    other = objects.put(keys.part(stored.ended(acme).pk, 7), b"kept\n").key
    job.refresh_from_db()
    due = job.data_deleted_at + LATE_WRITES + timedelta(seconds=settings.ANEX_LEASE_SECONDS)
    assert erasing.look_again(due - timedelta(seconds=1)) == 0
    assert [erasing.look_again(due), erasing.look_again(due + DAY)] == [1, 0]
    assert late not in stored.left(objects)
    assert other in stored.left(objects)


def test_repeating_the_sweep_changes_nothing(acme):
    job = stored.ended(acme, data_expires_at=NOW)
    assert [erasing.erase_due(NOW), erasing.erase_due(NOW + DAY)] == [1, 0]
    job.refresh_from_db()
    first = job.data_deleted_at
    erasing.erase(job)
    assert job.data_deleted_at == first


def test_days_without_a_sweep_are_made_up_for(acme):
    for days in (30, 31, 45):
        stored.ended(acme, data_expires_at=NOW - days * DAY)
    assert erasing.erase_due(NOW) == 3
    assert stored.left() == []


@pytest.mark.parametrize("status", [status for status in Status if status not in TERMINAL])
def test_a_job_that_is_not_over_is_never_erased(acme, status):
    job = stored.fill(stages.quoted(acme, status=status, data_expires_at=NOW, deletion_asked_at=NOW))
    erasing.erase_if_asked(job.pk)
    assert erasing.erase_due(NOW) == 0
    assert len(stored.left()) == 6


def test_an_erasing_that_is_cut_off_is_finished_by_the_next_sweep(acme, monkeypatch):
    job = stored.ended(acme, data_expires_at=NOW)

    def away(*_):
        raise StoreUnavailable("The store cannot be reached.")

    with monkeypatch.context() as patch:
        patch.setattr(retention, "withdraw", away)
        with pytest.raises(StoreUnavailable):
            erasing.erase_due(NOW)
    job.refresh_from_db()
    assert job.data_deleted_at is None
    assert erasing.erase_due(NOW) == 1
    assert stored.left() == []


@pytest.mark.parametrize("sweep", [erasing.erase_due, erasing.look_again, retention.expire_inputs])
def test_one_object_that_cannot_be_deleted_does_not_keep_the_others(acme, monkeypatch, sweep):
    stuck, *others = [stored.ended(acme, data_expires_at=NOW) for _ in range(4)]
    if sweep is erasing.look_again:
        Job.objects.update(data_deleted_at=NOW - DAY)
    if sweep is retention.expire_inputs:
        Input.objects.update(expires_at=NOW - DAY)
    real = LocalStore.delete

    def delete(objects, found):
        names = list(found)
        if any(str(stuck.pk) in key or key == stuck.input.key for key in names):
            raise StoreUnavailable("The object is locked.")
        real(objects, names)

    monkeypatch.setattr(LocalStore, "delete", delete)
    mine = [str(job.input.pk if sweep is retention.expire_inputs else job.pk) for job in others]
    for _ in range(100):
        with contextlib.suppress(StoreUnavailable):
            sweep(NOW)
    assert [key for key in stored.left() if any(name in key for name in mine)] == []


def test_a_store_that_is_away_when_the_job_ends_leaves_it_to_the_sweep(acme, monkeypatch):
    job = stored.ended(acme, deletion_asked_at=NOW)

    def away(_):
        raise StoreUnavailable("The store cannot be reached.")

    with monkeypatch.context() as patch:
        patch.setattr(erasing, "_empty", away)
        erasing.erase_if_asked(job.pk)
    assert len(stored.left()) == 6
    assert erasing.erase_due(NOW) == 1


def test_a_file_uploaded_again_after_its_deletion_goes_when_the_window_is_over(acme):
    opened = clock.now()
    source = make_input(acme, upload_expires_at=opened + inputs.UPLOAD_WINDOW)
    erasing.erase(stored.ended(acme, input=source))
    store().put(source.key, b"again\n")
    over = opened + inputs.UPLOAD_WINDOW + inputs.UPLOAD_GRACE + retention.MARGIN
    assert retention.expire_inputs(over - timedelta(seconds=1)) == 0
    assert retention.expire_inputs(over) == 1
    assert stored.left() == []


@pytest.mark.django_db(transaction=True)
def test_three_sweeps_at_once_leave_nothing(acme):
    for _ in range(8):
        stored.ended(acme, data_expires_at=NOW)
    failures = []

    def work() -> None:
        try:
            erasing.erase_due(NOW)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stored.left() == []
    assert not Job.objects.filter(data_deleted_at=None).exists()
    assert set(Input.objects.values_list("status", flat=True)) == {"expired"}
