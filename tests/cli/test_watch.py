"""What `anex watch` says of a job that does not move."""

import pytest

from anex.cli.jobs import _state

RUNNING = {"status": "in_progress", "paused": False}


@pytest.mark.parametrize(
    ("progress", "told"),
    [
        ({"waits_for_server": False, "off_reason": None}, "in_progress"),
        ({"waits_for_server": True, "off_reason": None}, "waiting for a server of the model"),
        (
            {"waits_for_server": True, "off_reason": "it repeats itself"},
            "waiting: the model is switched off: it repeats itself",
        ),
    ],
)
def test_why_rows_wait(progress: dict[str, object], told: str) -> None:
    assert _state(RUNNING, progress) == told
