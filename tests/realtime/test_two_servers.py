"""One server slow, one failing, dying and coming back, under a crowd: who is asked, and that no request is lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from accounts.models import Organization
from accounts.services import organizations
from anex.core.actors import system
from inference.models import Backend
from realtime import servers
from tests.factories import KeyInHand
from tests.inference.scripted_server import ScriptedServer, scripted_server
from tests.realtime.served import Surface, configure, serving
from tests.realtime.tills import check_books

AT_ONCE = 8


@pytest.fixture
def surface(key: KeyInHand) -> Iterator[Surface]:
    """With the patience of every day: a server may be slow."""
    with serving(key) as running:
        yield running


def asked(server: ScriptedServer) -> int:
    return server.stats()["requests"]


def configure_only(surface: Surface, *engines: ScriptedServer) -> list[Any]:
    """Make them the only servers of the model; what this process knows of each."""
    Backend.objects.filter(model_id="scripted").delete()
    for one in engines:
        configure(one.port, "scripted", concurrency=AT_ONCE)
    surface.refresh()
    by_address = dict(Backend.objects.filter(model_id="scripted").values_list("base_url", "id"))
    loads = surface.house["realtime"].servers._loads
    return [loads[by_address[one.base_url]] for one in engines]


def crowd(surface: Surface, count: int) -> int:
    """So many requests, a few at once, every second one streamed; all of them are answered whole."""

    def one(number: int) -> None:
        answer = surface.chat(stream=bool(number % 2))
        assert answer.status_code == 200
        assert answer.text.endswith("data: [DONE]\n\n" if number % 2 else "}")
        assert '"error"' not in answer.text

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return len(list(pool.map(one, range(count))))


def test_no_request_is_lost_whatever_one_of_two_servers_does(surface: Surface, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "REST_S", 60)
    acme = Organization.objects.get()
    organizations.limit_in_flight(organization_id=acme.pk, limit=500, reason="a test", actor=system("tests"))
    with scripted_server("--delay-ms", "150") as slow, scripted_server("--fail-every", "1") as broken:
        loads = configure_only(surface, slow, broken)

        # It fails until it is left alone; those under way at the fifth failure come on top.
        sent = crowd(surface, 24)
        opened = asked(broken)
        assert servers.FAILURES <= opened < servers.FAILURES + AT_ONCE
        sent += crowd(surface, 8)
        assert (asked(broken), asked(slow)) == (opened, sent)

        # It works again: after its rest one request tries it, and then it has more to do than the slow one.
        broken.arguments.clear()
        broken.restart()
        surface.look()
        loads[1].rests_until = 0.0
        sent += crowd(surface, 40)
        assert asked(broken) + asked(slow) == sent
        assert asked(broken) > asked(slow) - 32 > 0
        assert [load.failures for load in loads] == [0, 0]

        # It is gone, and nobody has to find out by a request; then it is back.
        broken.kill()
        surface.look()
        before = asked(slow)
        sent += crowd(surface, 8)
        assert (asked(slow), loads[1].failures) == (before + 8, 0)
        broken.restart()
        surface.look()
        sent += crowd(surface, 8)
        assert asked(broken) > 0
        assert [load.in_flight for load in loads] == [0, 0]

    records = surface.settled(sent)
    assert (len(records), {record.status for record in records}) == (sent, {"answered"})
    check_books(acme)
