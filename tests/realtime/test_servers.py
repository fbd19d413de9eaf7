"""Several servers of a model: the least loaded is asked, another before the first byte, a broken one is left alone."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from django.db import OperationalError

from anex.core.errors import TooManyRequests, Unavailable
from inference.backends.client import Client
from inference.backends.faults import ServerFailed, Throttled
from inference.backends.registry import Server
from realtime import servers
from realtime.servers import Servers
from tests.inference.scripted_server import ScriptedServer, scripted_server
from tests.realtime.served import Surface, configure


def server(number: int, concurrency: int = 4) -> Server:
    return Server(number, "m", "world", f"http://127.0.0.1:{number}/v1", "m", "", concurrency, True)


def known(*some: Server) -> Servers:
    made = Servers()
    made.update(some)
    return made


def test_least_loaded_for_its_size_is_asked_and_the_full_are_not() -> None:
    here = known(server(1, 2), server(2, 4))
    leases = [here.lease("m") for _ in range(6)]
    assert Counter(lease.server.id for lease in leases) == {1: 2, 2: 4}
    with pytest.raises(TooManyRequests) as full:
        here.lease("m")
    assert full.value.retry_after
    leases[0].worked()
    assert here.lease("m").server.id == leases[0].server.id
    with pytest.raises(Unavailable):
        here.lease("another")


def test_server_that_fails_again_and_again_rests_and_is_tried_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(servers.clock, "monotonic", lambda: now[0])
    here = known(server(1))
    for _ in range(servers.FAILURES - 1):
        here.lease("m").failed(ServerFailed("x"))
        here.lease("m").failed(Throttled("x"))
    here.lease("m").failed(ServerFailed("x"))
    with pytest.raises(Unavailable):
        here.lease("m")
    now[0] += servers.REST_S
    probe = here.lease("m")
    with pytest.raises(Unavailable):
        here.lease("m")
    probe.failed(ServerFailed("x"))
    now[0] += servers.REST_S / 2
    with pytest.raises(Unavailable):
        here.lease("m")
    now[0] += servers.REST_S / 2
    here.lease("m").drop()
    here.lease("m").worked()
    here.lease("m")
    here.lease("m")


def test_no_request_is_lost_while_one_server_fails(surface: Surface, scripted: ScriptedServer) -> None:
    with scripted_server("--fail-every", "1") as failing:
        configure(failing.port, "scripted")
        surface.refresh()
        before = scripted.stats()["requests"]
        statuses = [surface.chat(stream=bool(number % 2)).status_code for number in range(12)]
        asked = failing.stats()["requests"]
    assert statuses == [200] * 12
    assert asked == servers.FAILURES
    assert scripted.stats()["requests"] == before + 12
    assert {record.status for record in surface.settled(12)} == {"answered"}


def test_refusal_is_not_asked_for_twice(surface: Surface, scripted) -> None:
    before = scripted.stats()["requests"]
    assert surface.chat("a " * 33_000).status_code == 400
    assert scripted.stats()["requests"] == before + 1


def test_server_that_is_not_there_gets_no_request_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    async def look(*_: object) -> str:
        return looks.pop()

    monkeypatch.setattr(servers.health, "look", look)
    here = known(server(1))

    def is_asked(*found: str) -> bool:
        for one in found:
            looks.append(one)
            asyncio.run(here.look(Client()))
        try:
            here.lease("m").drop()
        except Unavailable:
            return False
        return True

    assert not is_asked("ill")
    assert is_asked("well")
    assert is_asked(*["silent"] * (servers.SILENCES - 1))
    here.lease("m").worked()
    assert is_asked("silent")
    busy = here.lease("m")
    for _ in range(servers.SILENCES):
        busy.heard()
        assert is_asked("silent")
    busy.drop()
    assert not is_asked(*["silent"] * (servers.SILENCES - 1))
    assert is_asked("well")


@pytest.mark.parametrize("answer", ["known", "away", "silent"])
async def test_registry_is_read_before_the_first_request_unless_it_cannot_be(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Servers()

    async def refresh() -> None:
        if answer == "away":
            raise OperationalError
        if answer == "silent":
            await asyncio.Event().wait()
        here.update([server(1)])

    monkeypatch.setattr(here, "refresh", refresh)
    monkeypatch.setattr(servers, "FIRST_S", 0.01)
    await here.begin()
    assert here.serve("m") == (answer == "known")


async def test_address_that_serves_several_models_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Server] = []

    async def look(_: object, at: Server) -> str:
        looks.append(at)
        return "ill"

    monkeypatch.setattr(servers.health, "look", look)
    here = known(server(1), replace(server(1), id=2, model_id="n"))
    await here.look(Client())
    assert len(looks) == 1
    for model in ("m", "n"):
        with pytest.raises(Unavailable):
            here.lease(model)
