"""What the scripted engine does wrong on purpose, seen through the client."""

import asyncio
from contextlib import asynccontextmanager

import orjson
import pytest

from inference.backends.client import Client
from inference.backends.faults import ServerFailed, ServerLost, Throttled
from tests.inference.scripted_server import scripted_server


@asynccontextmanager
async def asking(*arguments):
    """A running engine, and a function that asks it one prompt."""
    with scripted_server(*arguments) as engine:
        async with Client() as client:

            async def ask(prompt, timeout_s=10.0, **server):
                body = {"model": "scripted", "messages": [{"role": "user", "content": prompt}]}
                where = engine.server(**server)
                answer = await client.complete(where, "/chat/completions", orjson.dumps(body), timeout_s=timeout_s)
                return answer.status

            yield engine, ask


async def outcomes(ask, count):
    """How `count` requests in a row end: a status or the name of a fault."""
    ends = []
    for index in range(count):
        try:
            ends.append(await ask(f"row {index}"))
        except (Throttled, ServerFailed, ServerLost) as error:
            ends.append(type(error).__name__)
    return ends


@pytest.mark.parametrize(
    ("flag", "fault"),
    [
        ("--fail-every", "ServerFailed"),
        ("--throttle-every", "Throttled"),
        ("--drop-every", "ServerLost"),
        ("--cut-every", "ServerLost"),
    ],
)
async def test_every_nth_request_meets_its_fault(flag, fault):
    async with asking(flag, "3") as (engine, ask):
        assert await outcomes(ask, 6) == [200, 200, fault, 200, 200, fault]
        assert engine.alive


async def test_engine_dies_in_the_middle_of_an_answer_and_can_be_restarted():
    async with asking("--die-every", "2") as (engine, ask):
        assert await outcomes(ask, 3) == [200, "ServerLost", "ServerLost"]
        assert engine.process.wait(10) == 9
        engine.restart()
        assert await ask("again") == 200


@pytest.mark.parametrize("directive", ["die", "poison"])
async def test_deadly_prompt_ends_the_process(directive):
    async with asking() as (engine, ask):
        with pytest.raises(ServerLost) as caught:
            await ask(f"row [[{directive}]]")
        assert caught.value.sent
        assert engine.process.wait(10) == 9


async def test_directives_of_a_prompt_are_carried_out():
    async with asking("--retry-after-ms", "1500") as (_, ask):
        with pytest.raises(ServerLost):
            await ask("x [[cut]]")
        with pytest.raises(ServerLost):
            await ask("x [[drop]]")
        with pytest.raises(ServerFailed):
            await ask("x [[status 500]]")
        with pytest.raises(ServerFailed, match=r"0\.05 s"):
            await ask("x [[sleep 2000]]", timeout_s=0.05)
        with pytest.raises(Throttled) as caught:
            await ask("x [[status 429]]")
        assert caught.value.retry_after_s == 1.5
        assert await ask("x [[status 418]]") == 418


async def test_status_can_be_limited_to_the_first_times_a_prompt_is_asked():
    async with asking() as (_, ask):
        for _ in range(2):
            with pytest.raises(ServerFailed):
                await ask("x [[status 502 2]]")
        assert await ask("x [[status 502 2]]") == 200
        with pytest.raises(ServerFailed):
            await ask("y [[status 502 2]]")


async def test_journal_has_one_line_per_request_received(tmp_path):
    journal = tmp_path / "journal"
    async with asking("--journal", str(journal)) as (_, ask):
        await asyncio.gather(*(ask(f"row {index}\nsecond line {'x' * 300}") for index in range(50)))
        with pytest.raises(ServerFailed):
            await ask("failing [[status 500]]")
        with pytest.raises(ServerLost):
            await ask("deadly [[poison]]")
    lines = journal.read_text().splitlines()
    assert sorted(line.split("\\n")[0] for line in lines[:50]) == sorted(f"row {index}" for index in range(50))
    assert lines[50:] == ["failing [[status 500]]", "deadly [[poison]]"]
    assert max(map(len, lines)) <= 201


async def test_a_wrong_key_is_refused():
    async with asking("--api-key", "secret-key", "--served-name", "scripted") as (_, ask):
        for key in ("", "wrong"):
            with pytest.raises(ServerFailed, match="401"):
                await ask("hello", api_key=key)
        assert await ask("hello", api_key="secret-key") == 200


async def test_model_that_is_not_served_is_unknown():
    async with asking("--served-name", "other") as (_, ask):
        with pytest.raises(ServerFailed, match="404"):
            await ask("hello")


async def test_every_answer_can_be_made_slow():
    async with asking("--delay-ms", "2000") as (_, ask):
        with pytest.raises(ServerFailed, match=r"0\.05 s"):
            await ask("hello", timeout_s=0.05)


@pytest.mark.parametrize("directive", ["cut", "die"])
async def test_stream_broken_off_by_a_directive_has_no_end(directive):
    async with asking() as (engine, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", engine.port)
        body = orjson.dumps({"messages": [{"role": "user", "content": f"x [[{directive}]]"}], "stream": True})
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        received = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert b'"role":"assistant"' in received
    assert b"[DONE]" not in received


async def test_held_stream_goes_on_when_it_is_released_and_ends_with_its_client():
    async with asking() as (engine, _):

        async def held() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", engine.port)
            body = orjson.dumps({"messages": [{"role": "user", "content": "x [[hold]]"}], "stream": True})
            writer.write(
                f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            )
            writer.write(body)
            assert b"data: " in await reader.readuntil(b"data: ")
            while not engine.stats()["held"]:
                await asyncio.sleep(0.01)
            return reader, writer

        reader, writer = await held()
        engine.release()
        assert await reader.readuntil(b"[DONE]")
        writer.close()
        _, writer = await held()
        writer.close()
        while engine.stats()["in_flight"]:
            await asyncio.sleep(0.01)
