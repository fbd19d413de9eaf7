"""Each service gives no answer for moments while every surface is used; then the books.

`make outages` has each away for thirty seconds, in each of three ways.
"""

import pytest

from tests.faults import outage_load, outages
from tests.faults.outages import Outage

SHORT = [
    Outage("postgres", "silent", 2.0),
    Outage("store", "silent", 1.0),
    Outage("valkey", "silent", 1.0),
    Outage("postgres", "refused", 0.5),
]


@pytest.mark.slow
def test_every_surface_says_when_to_come_back_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage_load, "PAUSE_S", 1.0)
    outages.play(SHORT, rows=100, rows_each=0, submits=6, patience_s=60, durable=False)
