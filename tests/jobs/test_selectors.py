"""What pages read: only the organization's own jobs."""

from datetime import timedelta

from anex.core import clock
from anex.core.money import cents_to_nano
from jobs.lifecycle import Status
from jobs.selectors import jobs
from jobs.services.transitions import advance
from tests.jobs.api import stages


def test_recent_jobs_come_newest_first_and_up_to_the_limit(acme, globex):
    made = [stages.submitted(acme) for _ in range(3)]
    stages.submitted(globex)
    assert jobs.recent(acme.pk, 2) == [made[2], made[1]]


def test_the_approval_queue_shows_the_soonest_to_lapse_first(acme, globex):
    later = stages.quoted(acme)
    sooner = stages.quoted(acme, approval_expires_at=clock.now() + timedelta(hours=1))
    stages.submitted(acme)
    stages.quoted(globex)
    assert jobs.awaiting_approval(acme.pk) == [sooner, later]


def test_progress_starts_with_the_approval(acme):
    assert jobs.progress(stages.quoted(acme)) is None
    job = stages.running(acme)
    assert jobs.progress(job) == jobs.Progress(0, 0, 100, 0, 0, 0, rows_per_second=0, waits_for_server=True)
    stages.part(job, error_rows=1, cost_nano=7)
    found = jobs.progress(job)
    assert (found.rows_done, found.rows_total, found.spent_nano) == (11, 100, 7)
    assert 0 < found.rows_per_second <= 11


def test_parts_are_added_up_once_a_second(acme, monkeypatch):
    monkeypatch.setattr(jobs, "KEPT_SECONDS", 1.0)
    job, shown = stages.running(acme), []
    for index, now in enumerate((100.0, 100.9, 101.0)):
        monkeypatch.setattr(clock, "monotonic", lambda now=now: now)
        stages.part(job, index=0, success_rows=1, key=f"parts/{index}")
        shown.append(jobs.progress(job).rows_done)
    assert shown == [1, 1, 3]


def test_progress_of_a_finished_job_is_its_outcome(acme):
    assert jobs.progress(stages.ended(acme)) == jobs.Progress(99, 5, 100, cents_to_nano(41))


def test_events_come_in_order(acme):
    job = stages.quoted(acme)
    advance(job.pk, to=Status.IN_PROGRESS, actor=stages.BUILDER)
    advance(job.pk, to=Status.FINALIZING, actor=stages.BUILDER)
    assert [event.type for event in jobs.events(job)] == ["in_progress", "finalizing"]
