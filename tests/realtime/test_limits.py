"""How many requests run at once, over both hosts, and what an ending process does with those under way."""

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from accounts.services import organizations
from anex.core.actors import system
from inference import catalogue
from realtime import offers
from tests.realtime.served import Surface, until

HELD = "[[tokens 20]] [[hold]]"


def test_requests_beyond_the_organizations_limit_get_429_at_once(surface: Surface, scripted) -> None:
    organizations.limit_in_flight(
        organization_id=surface.key.caller.organization_id, limit=2, reason="a test", actor=system("tests")
    )
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(surface.chat, HELD, stream=True) for _ in range(2)]
        until(lambda: scripted.stats()["held"] == 2)
        refused = surface.http.post("/realtime/v1/embeddings", json={"model": "scripted-embed", "input": "a"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "x-should-retry" not in refused.headers
        scripted.release()
        assert [done.result().status_code for done in running] == [200, 200]
    assert surface.chat().status_code == 200
    surface.settled(3)


def test_requests_beyond_a_models_concurrency_get_429(surface: Surface, scripted, monkeypatch) -> None:
    model = catalogue.get("scripted")
    assert model
    narrow = msgspec.structs.replace(model, realtime=msgspec.structs.replace(model.realtime, concurrency=1))
    monkeypatch.setattr(offers.catalogue, "get", lambda _: narrow)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(surface.chat, HELD, stream=True)
        until(lambda: scripted.stats()["held"] == 1)
        refused = surface.chat()
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        assert refused.headers["retry-after"] == "1"
        scripted.release()
        running.result()


@pytest.mark.parametrize("stream", [True, False])
def test_answers_under_way_are_finished_before_the_process_ends(surface: Surface, scripted, stream: bool) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(surface.chat, HELD, stream=stream)
        until(lambda: scripted.stats()["held"] == 1)
        surface.server.should_exit = True
        scripted.release()
        answer = running.result()
    assert answer.status_code == 200
    assert answer.text.endswith("data: [DONE]\n\n") or not stream
    (record,) = surface.settled()
    assert record.status == "answered"


def test_answer_that_a_process_cannot_finish_is_free(surface: Surface, scripted) -> None:
    surface.server.config.timeout_graceful_shutdown = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(surface.chat, HELD, stream=True)
        until(lambda: scripted.stats()["held"] == 1)
        surface.server.should_exit = True
        assert running.exception() or running.result()
    (record,) = surface.settled()
    assert (record.status, record.amount_nano) == ("failed", 0)
