"""Places in the window: bounded, given back once, and never waited for after a halt."""

import asyncio
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest

from inference.backends.queue import Queue
from inference.backends.registry import Server
from jobs.run.turns import ROWS_OF_A_JOB
from jobs.run.window import UNSETTLED_ROWS, Owner, Place, Window

JOB = uuid.uuid4()


def server(number: int = 1, *, concurrency: int = 2) -> Server:
    url = f"http://server-{number}/v1"
    return Server(number, "scripted", "world", url, "scripted", "", concurrency, True)


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(steps, 30))


async def settled(task: "asyncio.Task[Any]") -> bool:
    """Whether a task ends without anything else happening."""
    await asyncio.wait({task}, timeout=0.01)
    return task.done()


def window_of(*servers: Server, max_bytes: int = 1000) -> Window:
    window = Window(max_bytes)
    window.update(servers)
    return window


async def taken(window: Window, size_bytes: int = 1) -> Place:
    place = await window.acquire(size_bytes)
    assert place is not None
    return place


def test_a_place_is_given_back_once() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=1))
        first = await taken(window)
        first.release()
        first.release()
        await taken(window)
        assert not await settled(asyncio.create_task(window.acquire(1)))

    run(steps())


def test_bytes_are_bounded_and_a_larger_row_travels_alone() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=9), max_bytes=10)
        small = await taken(window, 4)
        large = asyncio.create_task(window.acquire(50))
        assert not await settled(large)
        small.release()
        assert await settled(large)

    run(steps())


@pytest.mark.parametrize("returns", [True, False])
def test_rows_on_a_server_that_left_still_count_when_it_comes_back(returns: bool) -> None:
    async def steps() -> None:
        window = window_of(server(1, concurrency=1), server(2, concurrency=1))
        places = [await taken(window), await taken(window)]
        window.update([])
        assert window.size == 0
        window.update([server(1, concurrency=1)] if returns else [])
        waiting = asyncio.create_task(window.acquire(1))
        assert not await settled(waiting)
        for place in places:
            place.release()
        assert await settled(waiting) == returns

    run(steps())


def test_a_halted_row_does_not_wait_for_a_server_that_never_comes() -> None:
    async def steps() -> None:
        window, halted = window_of(), asyncio.Event()
        waiting = asyncio.create_task(window.acquire(1, halted=halted.is_set))
        assert not await settled(waiting)
        halted.set()
        window.look_again()
        assert await waiting is None

    run(steps())


def test_rows_that_come_again_go_first_and_hold_new_ones_back() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=1))
        with window.retrying():
            new = asyncio.create_task(window.acquire(1))
            assert not await settled(new)
            again = await window.acquire(1, again=True)
            assert again is not None
        again.release()
        assert await settled(new)

    run(steps())


def test_a_cancelled_wait_passes_its_turn_on() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=1))
        place = await taken(window)
        first, second = (asyncio.create_task(window.acquire(1)) for _ in range(2))
        await settled(second)
        place.release()
        first.cancel()
        assert await settled(second)

    run(steps())


def test_a_server_that_broke_off_is_probed_by_one_row_until_it_answers() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=4))
        place = await taken(window)
        place.lost(reachable=True)
        probe = asyncio.create_task(window.acquire(1))
        assert not await settled(probe)
        place.proved()
        place.release()
        assert await settled(probe)

    run(steps())


def test_fetched_bytes_hold_up_new_rows_and_fetches_but_not_the_rows_that_hold_them() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=9))
        with window.holding(1000):
            entering = asyncio.create_task(window.acquire(1))
            fetching = asyncio.create_task(window.fetching(JOB).__aenter__())
            assert not await settled(entering)
            assert not await settled(fetching)
            with window.retrying():
                assert await window.acquire(1, again=True)
        await fetching
        assert await entering

    run(steps())


def test_few_rows_of_a_job_are_fetched_at_once_and_hold_up_that_job_alone() -> None:
    async def steps() -> None:
        window = window_of(server())
        async with AsyncExitStack() as fetches:
            for _ in range(ROWS_OF_A_JOB):
                await fetches.enter_async_context(window.fetching(JOB))
            assert window.turns.held_up() == set()
            late = asyncio.create_task(window.fetching(JOB).__aenter__())
            assert not await settled(late)
            assert window.turns.held_up() == {JOB}
            async with window.fetching(uuid.uuid4()):
                pass
        await late
        assert window.turns.held_up() == set()

    run(steps())


def test_a_row_that_leaves_its_place_keeps_its_bytes_and_comes_back_before_new_rows() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=1), max_bytes=10)
        large = await taken(window, 50)
        large.leave()
        waiting = asyncio.create_task(window.acquire(1))
        assert not await settled(waiting)  # the bytes are all taken
        assert await large.come_back(halted=lambda: False)
        large.release()
        (await waiting).release()
        small = await taken(window)
        small.leave()
        other = await taken(window)
        new = asyncio.create_task(window.acquire(1))
        back = asyncio.create_task(small.come_back(halted=lambda: False))
        assert not await settled(back)
        other.release()
        assert await settled(back)
        assert not await settled(new)
        small.release()
        assert await settled(new)

    run(steps())


def test_a_server_that_throttles_gets_fewer_rows_and_more_again_as_it_answers() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=10))
        places = [await taken(window) for _ in range(10)]
        for place in places:
            place.throttled()  # all of them at once are one sign
            place.release()
        places = [await taken(window) for _ in range(7)]
        more = asyncio.create_task(window.acquire(1))
        assert not await settled(more)
        for place in [*places, *places[:1]]:
            place.proved()
        places[0].release()
        assert await settled(more)
        assert await window.acquire(1)

    run(steps())


def test_a_server_in_which_rows_wait_twice_in_a_row_gets_the_share_it_is_at_and_more_again() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=16))
        url = server().base_url
        places = [await taken(window) for _ in range(16)]
        for queue in (Queue(4, 12), Queue(16, 1), Queue(4, 12), Queue(16, 2)):
            window.queued(url, queue)  # never twice in a row
        for place in places[:2]:
            place.release()
            assert await window.acquire(1)
        for _ in range(2):
            window.queued(url, Queue(8, 24))
        more = asyncio.create_task(window.acquire(1))
        for place in places[2:14]:
            place.release()
        assert not await settled(more)  # a quarter of sixteen may be in flight
        for place in places[14:]:
            place.release()
        assert await settled(more)
        for _ in range(2):
            window.queued(url, Queue(0, 5))
        window.queued("http://elsewhere/v1", Queue(0, 5))
        assert [known.base_url for known in window.busy()] == [url]

    run(steps())


def test_places_go_to_the_organization_and_then_the_job_with_the_fewest_rows_in_flight() -> None:
    async def steps() -> None:
        window, got = window_of(server(concurrency=1)), []
        big, small = uuid.uuid4(), uuid.uuid4()
        first = await taken(window)

        async def wait(name: str, owner: Owner) -> None:
            assert await window.acquire(1, owner=owner)
            got.append(name)

        names = {"big": Owner(big, JOB), "big, another job": Owner(big, uuid.uuid4()), "small": Owner(small, JOB)}
        held = [window._of_organization, window._of_job]
        held[0][big], held[1][JOB] = 3, 3
        waits = [asyncio.create_task(wait(name, owner)) for name, owner in names.items()]
        await settled(waits[0])
        window.update([server(concurrency=9)])
        first.release()
        await asyncio.gather(*waits)
        assert got == ["small", "big, another job", "big"]

    run(steps())


def test_a_share_counts_between_organizations_and_a_priority_only_within_one() -> None:
    async def steps() -> None:
        window, got = window_of(server(concurrency=1)), []
        paid, other = uuid.uuid4(), uuid.uuid4()
        first = await taken(window)

        async def wait(name: str, owner: Owner) -> None:
            assert await window.acquire(1, owner=owner)
            got.append(name)

        names = {
            "other": Owner(other, uuid.uuid4()),
            "other, first": Owner(other, uuid.uuid4(), priority=9),
            "paid": Owner(paid, uuid.uuid4(), share=4, priority=0),
            "paid, usual": Owner(paid, uuid.uuid4()),
        }
        window._of_organization.update({paid: 6, other: 2})
        waits = [asyncio.create_task(wait(name, owner)) for name, owner in names.items()]
        await settled(waits[0])
        window.update([server(concurrency=9)])
        first.release()
        await asyncio.gather(*waits)
        assert got == ["paid", "other, first", "other", "paid, usual"]

    run(steps())


def test_no_new_row_is_let_in_while_too_many_are_not_durable() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=2))
        for _ in range(2 + UNSETTLED_ROWS):
            (await taken(window)).release()
        new = asyncio.create_task(window.acquire(1))
        assert not await settled(new)
        window.settle(1)
        assert await settled(new)

    run(steps())


def test_a_row_that_is_sent_again_does_not_wait_for_rows_that_wait_for_what_it_fetched() -> None:
    async def steps() -> None:
        window = window_of(server(concurrency=2), max_bytes=10)
        later = await taken(window, 8)
        later.leave()

        async def fetch() -> None:
            async with window.fetching(JOB):
                pass

        with window.holding(20), window.retrying():
            fetching = asyncio.create_task(fetch())
            assert not await settled(fetching)
            again = await asyncio.wait_for(window.acquire(5, again=True), 5)
            assert again
            again.release()
        assert await settled(fetching)
        new = asyncio.create_task(window.acquire(3))
        assert not await settled(new)
        assert await later.come_back(halted=lambda: False)
        assert not await settled(new)
        later.release()
        assert await settled(new)

    run(steps())


def test_a_server_that_fails_is_told_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def steps() -> None:
        place = await taken(window_of(server()))
        for _ in range(3):
            place.failed("The model server answered 401.")

    run(steps())
    assert [record.getMessage() for record in caplog.records] == [
        "the server of scripted at http://server-1/v1 fails: The model server answered 401."
    ]
