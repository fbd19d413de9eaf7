"""How callers are counted over processes, in a real Valkey and without one."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from django.conf import settings
from limits import parse

from anex import rates
from anex.core import clock, log_ids
from anex.rates import Rates

pytestmark = pytest.mark.asyncio
RATE = parse("4 per 10 seconds")


@pytest.fixture
def ada() -> str:
    return f"address:{uuid.uuid4()}"


@pytest.fixture
def wait(monkeypatch) -> Callable[[float], None]:
    """Moves this process's clock; Valkey's goes on by itself."""
    later = [0.0]
    monkeypatch.setattr(clock, "monotonic", lambda: 1000.0 + later[0])

    def move(seconds: float) -> None:
        later[0] += seconds

    return move


@pytest_asyncio.fixture
async def process() -> AsyncIterator[Callable[..., Rates]]:
    """Makes what every process has one of."""
    made: list[Rates] = []

    def make(url: str = settings.CELERY_BROKER_URL) -> Rates:
        made.append(Rates(url, prefix="test-rates"))
        return made[-1]

    yield make
    for one in made:
        await one.close()


def heard(process: Rates, caller: str, times: int) -> int:
    return [process.hit(RATE, caller) for _ in range(times)].count(0)


async def test_the_window_slides(process, ada, wait):
    one = process("redis://127.0.0.1:9/0")
    assert heard(one, ada, 5) == 4
    assert one.hit(RATE, ada) == 10
    wait(11)
    assert one.hit(RATE, ada) == 0, "a tenth of the window has passed: less than four count"
    assert one.hit(RATE, ada) == 2
    wait(1.6)
    assert heard(one, ada, 2) == 1
    wait(30)
    assert heard(one, ada, 5) == 4


async def test_processes_learn_of_each_other(process, ada):
    one, other = process(), process()
    assert heard(one, ada, 3) == 3
    assert await one.share()
    assert heard(other, ada, 1) == 1
    assert await other.share()
    assert heard(other, ada, 2) == 0
    assert heard(one, ada, 1) == 1, "not told yet"
    assert await one.share()
    assert heard(one, ada, 1) == 0


async def test_it_shares_by_itself(process, ada, monkeypatch):
    monkeypatch.setattr(rates, "EVERY_S", 0.001)
    one, other = process(), process()
    assert heard(one, ada, 4) == 4
    heard(other, ada, 1)
    async with asyncio.timeout(5):
        await one._sharing
        heard(other, ada, 1)
        await other._sharing
    assert heard(other, ada, 1) == 0


async def test_without_valkey_each_process_counts_for_itself_and_tells_later(process, ada, caplog):
    one, other = process("redis://127.0.0.1:9/0"), process()
    assert heard(one, ada, 5) == 4
    assert not await one.share()
    assert "for itself" in caplog.text
    one._add_up = process()._add_up
    assert await one.share()
    heard(other, ada, 1)
    assert await other.share()
    assert heard(other, ada, 1) == 0


async def test_a_valkey_that_hangs_holds_nobody_up(process, ada, monkeypatch, caplog):
    async def hang(reader, writer) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr(rates, "PATIENCE_S", 0.05)
    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        one = process(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
        assert heard(one, ada, 5) == 4
        assert not await one.share()
    assert "for itself" in caplog.text


async def test_what_is_told_of_all_callers_names_no_request(process, ada, monkeypatch):
    one, found = process("redis://127.0.0.1:9/0"), asyncio.Queue()
    monkeypatch.setattr(rates, "EVERY_S", 0)
    monkeypatch.setattr(rates.log, "warning", lambda *_: found.put_nowait(log_ids.current()))
    log_ids.begin(request="r")
    heard(one, ada, 1)
    assert await asyncio.wait_for(found.get(), 10) == {}


async def test_who_has_gone_is_forgotten(process, ada, wait):
    one = process()
    heard(one, ada, 1)
    assert await one.share()
    wait(25)
    heard(one, "somebody else", 1)
    assert await one.share()
    assert list(one._counts) == ["somebody else"]
