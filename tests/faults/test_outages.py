"""Each service is away for moments, refused and without an answer, while every surface is used; then the books.

`make outages` has each away for thirty seconds, in each of three ways.
"""

import pytest

from tests.faults import outages
from tests.faults.outages import Outage

SHORT = [
    Outage("postgres", "silent", 2.0),
    Outage("valkey", "silent", 1.0),
    Outage("store", "silent", 1.0),
    Outage("postgres", "refused", 1.0),
    Outage("valkey", "refused", 1.0),
    Outage("store", "refused", 1.0),
]


@pytest.mark.slow
def test_every_surface_says_when_to_come_back_and_nothing_is_lost() -> None:
    outages.play(SHORT, rows=60, submits=20, patience_s=60, durable=False)
