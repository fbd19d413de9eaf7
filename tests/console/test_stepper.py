from datetime import UTC, datetime, timedelta

import pytest

from anex.console.stepper import LABELS, steps, tone
from anex.console.templatetags.console import spent
from jobs.lifecycle import TERMINAL, Status

START = datetime(2026, 1, 1, tzinfo=UTC)


def happened(*names):
    return [(name, START + timedelta(minutes=place)) for place, name in enumerate(names)]


def shape(status, *names):
    return [(step.label, step.state) for step in steps(Status(status), happened(*names))]


def test_waiting_job_shows_what_is_still_to_come():
    assert shape("cost_ready", "submitted", "estimating", "cost_ready") == [
        ("Submitted", "past"),
        ("Estimating", "past"),
        ("Quoted", "now"),
        ("Running", "ahead"),
        ("Finalizing", "ahead"),
        ("Done", "ahead"),
    ]


def test_done_job_ends_well_and_has_nothing_ahead():
    names = ("submitted", "estimating", "cost_ready", "in_progress", "finalizing", "done")
    assert shape("done", *names)[-1] == ("Done", "good")
    assert all(state in ("past", "good") for _, state in shape("done", *names))


def test_failed_job_stops_where_it_failed():
    assert shape("failed", "submitted", "estimating", "failed")[-1] == ("Failed", "bad")


def test_cancelled_job_ends_neither_well_nor_badly():
    assert shape("cancelled", "submitted", "cancelled")[-1] == ("Cancelled", "plain")


def test_cancelling_job_is_on_its_way_to_cancelled_only():
    names = ("submitted", "estimating", "cost_ready", "in_progress", "cancelling")
    assert shape("cancelling", *names)[-2:] == [("Cancelling", "now"), ("Cancelled", "ahead")]


@pytest.mark.parametrize(
    ("nano", "shown"), [(0, "$0.00"), (1, "under $0.01"), (9_999_999, "under $0.01"), (10_000_000, "$0.01")]
)
def test_running_cost_below_a_cent_is_shown_without_digits(nano, shown):
    assert spent(nano) == shown


def test_only_steps_that_happened_have_a_time():
    shown = steps(Status.ESTIMATING, happened("submitted", "estimating"))
    assert [step.at for step in shown[:2]] == [START, START + timedelta(minutes=1)]
    assert {step.at for step in shown[2:]} == {None}


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_label_and_a_tone(status):
    assert LABELS[status]
    assert (tone(status) == "info") == (status not in TERMINAL | {Status.COST_READY})
