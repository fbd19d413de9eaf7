"""The part protocol loses, doubles and misbills no row, and needs every one of its guards."""

from dataclasses import replace

import pytest

from tests.jobs.run.protocol_model import Guards, search


def test_no_reachable_state_loses_doubles_or_misbills_a_row():
    problem, states = search(Guards())
    assert problem == ""
    assert states > 10_000


@pytest.mark.parametrize("guard", Guards.names())
def test_removing_a_guard_breaks_it(guard: str):
    problem, _ = search(replace(Guards(), **{guard: False}))
    assert problem
