"""A sweep does what it can: one thing that fails stops no other, and where all fail it does not wait for each."""

import pytest

from anex.core import sweeps
from anex.core.errors import Unavailable


def doing(failing: set[int], seen: list[int]):
    def do(thing: int) -> int:
        seen.append(thing)
        if thing in failing:
            raise Unavailable("away")
        return thing

    return do


def test_one_thing_that_fails_stops_no_other() -> None:
    seen: list[int] = []
    assert sweeps.each(range(6), doing({0, 1, 3, 4}, seen)) == 7
    assert seen == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("failing", "reached"), [({0}, [0]), ({1, 2, 3}, [0, 1, 2, 3])])
def test_what_fails_as_a_whole_is_told(failing: set[int], reached: list[int]) -> None:
    seen: list[int] = []
    with pytest.raises(Unavailable):
        sweeps.each(range(len(reached) + 5) if len(reached) > 1 else range(1), doing(failing, seen))
    assert seen == reached
