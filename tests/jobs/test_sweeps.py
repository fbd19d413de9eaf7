"""Jobs that nobody approved in time (reference 001, approve a job)."""

from datetime import timedelta

import pytest
from django.db import connections

from anex.core import clock
from jobs import tasks
from jobs.models import Chunk, Input, JobEvent, Worker
from jobs.services import sweeps
from jobs.services.inputs import RETENTION
from tests.factories import make_input, make_organization
from tests.jobs.api import stages


@pytest.fixture
def acme(db):
    return make_organization("Acme")


def test_only_lapsed_estimates_are_cancelled(acme):
    now = clock.now()
    lapsed = stages.quoted(acme, approval_expires_at=now)
    waiting = stages.quoted(acme, approval_expires_at=now + timedelta(seconds=1))
    new = stages.submitted(acme)
    assert sweeps.cancel_unapproved(now) == 1
    for job in (lapsed, waiting, new):
        job.refresh_from_db()
    assert (lapsed.status, lapsed.stop_reason, lapsed.charge_cents) == ("cancelled", "approval_expired", 0)
    assert (waiting.status, new.status) == ("cost_ready", "submitted")
    assert JobEvent.objects.get(job=lapsed).actor == "system:approval_window"
    assert sweeps.cancel_unapproved(now) == 0


@pytest.mark.django_db(transaction=True)
def test_a_job_being_decided_about_is_left_to_the_next_sweep(acme):
    now = clock.now()
    job = stages.quoted(acme, approval_expires_at=now)
    deciding = connections.create_connection("default")
    try:
        deciding.set_autocommit(False)
        with deciding.cursor() as cursor:
            cursor.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE", [job.pk])
        assert sweeps.cancel_unapproved(now) == 0
    finally:
        deciding.rollback()
        deciding.close()
    assert sweeps.cancel_unapproved(now) == 1


def test_the_scheduled_sweep_ends_jobs_and_inputs_whose_time_is_over(acme, settings, tmp_path):
    settings.ANEX_STORAGE_DIR = tmp_path
    job = stages.quoted(acme, approval_expires_at=clock.now())
    old = make_input(acme, status=Input.State.READY, expires_at=clock.now() - RETENTION)
    tasks.sweep()
    job.refresh_from_db()
    old.refresh_from_db()
    assert (job.status, old.status) == ("cancelled", "expired")
    assert old.purged_at is not None


def test_workers_that_died_long_ago_are_forgotten_unless_they_hold_a_chunk(acme):
    now = clock.now()
    long_ago = now - timedelta(days=1)
    dead, holding, alive = (
        Worker.objects.create(name=name, region="world", started_at=long_ago, heartbeat_at=heartbeat)
        for name, heartbeat in (("dead", long_ago), ("holding", long_ago), ("alive", now))
    )
    Chunk.objects.create(job=stages.submitted(acme), kind="rows", index=0, epoch=holding.pk)
    Chunk.objects.create(job=stages.submitted(acme), kind="rows", index=0, epoch=dead.pk, closed=True)
    assert sweeps.forget_workers(now) == 1
    assert set(Worker.objects.all()) == {holding, alive}


def test_a_step_of_the_sweep_that_fails_stops_no_other(acme, monkeypatch):
    def broken(now):
        raise OSError("the store is away")

    monkeypatch.setattr(tasks, "SWEEPS", (broken, *tasks.SWEEPS))
    lapsed = stages.quoted(acme, approval_expires_at=clock.now() - timedelta(seconds=1))
    tasks.sweep()
    lapsed.refresh_from_db()
    assert lapsed.status == "cancelled"
