"""The asynchronous client."""

import asyncio

import pytest
from asked import HI, says


@pytest.mark.smoke
async def test_several_requests_at_once_are_answered(async_client, anex) -> None:
    replies = await asyncio.gather(
        *(async_client.chat.completions.create(model=anex.chat, messages=HI, max_tokens=8) for _ in range(4))
    )
    assert len({reply.id for reply in replies}) == 4
    assert all(reply.choices[0].message.content for reply in replies)


async def test_stream_is_read_as_it_comes(async_client, anex) -> None:
    stream = await async_client.chat.completions.create(model=anex.chat, messages=HI, stream=True)
    reasons = [chunk.choices[0].finish_reason async for chunk in stream if chunk.choices]
    assert reasons[-1] == "stop"


async def test_cancelled_requests_free_their_places(async_client, anex) -> None:
    slow = says("[[tokens 400]] [[pace 50]]")
    # On a busy machine a place may be free a little later.
    patient = async_client.with_options(max_retries=8)

    async def read() -> None:
        async for _ in await patient.chat.completions.create(model=anex.chat, messages=slow, stream=True):
            pass

    async def wait() -> None:
        await patient.chat.completions.create(model=anex.chat, messages=slow)

    # Together more than an organization may have in flight.
    for _ in range(3):
        tasks = [asyncio.create_task(kind()) for kind in (read, wait) * 4]
        await asyncio.sleep(0.4)
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*tasks, return_exceptions=True)
        )
    assert (await patient.chat.completions.create(model=anex.chat, messages=HI)).choices


async def test_more_than_may_be_in_flight_are_answered_by_the_clients_own_retries(anex, async_client) -> None:
    patient = async_client.with_options(max_retries=8)
    busy = says("[[tokens 10]] [[pace 20]]")
    replies = await asyncio.gather(
        *(patient.chat.completions.create(model=anex.chat, messages=busy) for _ in range(20))
    )
    assert len({reply.id for reply in replies}) == 20
