"""Every status of the one life cycle is a status of a batch (reference 000, batch status)."""

from typing import get_args

import pytest

from jobs.batch_status import BatchStatus, shown
from jobs.lifecycle import Status


@pytest.mark.parametrize(
    ("status", "stop_reason", "batch"),
    [
        ("submitted", "", "validating"),
        ("estimating", "", "validating"),
        ("cost_ready", "", "validating"),
        ("in_progress", "", "in_progress"),
        ("finalizing", "", "finalizing"),
        ("finalizing", "internal_error", "finalizing"),
        ("done", "", "completed"),
        ("failed", "internal_error", "failed"),
        ("cancelling", "cancelled", "cancelling"),
        ("cancelled", "cancelled", "cancelled"),
        ("cancelling", "expired", "finalizing"),
        ("cancelled", "expired", "expired"),
    ],
)
def test_a_batch_shows_what_its_job_is_at(status, stop_reason, batch):
    assert shown(Status(status), stop_reason) == batch


def test_every_status_of_a_job_is_shown_as_one_that_clients_know():
    assert {shown(status, reason) for status in Status for reason in ("", "expired")} == set(get_args(BatchStatus))
