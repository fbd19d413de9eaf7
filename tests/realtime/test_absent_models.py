"""A model that nobody answers for: warming, switched off, away. Nothing is charged, and the error says what helps."""

from typing import Any

import httpx
import pytest

from accounts.services import freezes
from anex.core.actors import system
from anex.supervisor.valkey import free_port
from inference.backends import registry
from inference.models import Backend
from tests.inference.scripted_server import scripted_server
from tests.realtime.served import Surface, configure

ACTOR = system("tests")
SURFACES = ["/v1", "/openai/v1"]
CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
EMBED = {"model": "scripted-embed", "input": "a"}
FROZEN = [("/realtime/v1/embeddings", EMBED)] + [(f"{path}/chat/completions", CHAT) for path in SURFACES]
WHY = "The realtime API is frozen for maintenance: a new rack. Send this again later."


def told(answer: httpx.Response) -> tuple[int, str, Any, Any]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["retry"], error["charged"]


@pytest.mark.parametrize("path", SURFACES)
def test_cold_server_asks_to_wait_and_the_same_request_is_answered_once_it_is_there(surface: Surface, path) -> None:
    asked = [("chat/completions", CHAT, "model_warming"), ("embeddings", EMBED, "embeddings_warming")]
    Backend.objects.all().delete()
    with scripted_server() as engine:
        configure(engine.port, "scripted", "scripted-embed")
        surface.refresh()
        engine.kill()
        surface.look()
        for call, body, code in asked:
            cold = surface.http.post(f"{path}/{call}", json=body, headers={"Idempotency-Key": call})
            assert told(cold) == (503, code, "same", False)
            assert cold.headers["retry-after"] == str(cold.json()["error"]["retry_after"]) == "20"
            assert "x-should-retry" not in cold.headers
        assert [record.amount_nano for record in surface.settled(2)] == [0, 0]
        engine.restart()
        surface.look()
        for call, body, _ in asked:
            answer = surface.http.post(f"{path}/{call}", json=body, headers={"Idempotency-Key": call})
            assert answer.status_code == 200
    assert all(record.amount_nano for record in surface.settled(4)[2:])


def test_worker_that_was_there_and_starts_again_is_waited_for(surface: Surface) -> None:
    Backend.objects.filter(model_id="scripted").update(source="worker", seen_at=None)
    surface.refresh()
    assert told(surface.chat()) == (503, "model_warming", "same", False)
    Backend.objects.filter(model_id="scripted").delete()
    surface.refresh()
    assert told(surface.chat()) == (503, "unavailable", "same", False)


@pytest.mark.parametrize("path", SURFACES)
def test_model_that_is_switched_off_says_why_and_is_not_resent(surface: Surface, path) -> None:
    registry.switch(enabled=False, model_id="scripted", off_reason="it repeats itself", actor=ACTOR)
    surface.refresh()
    refused = surface.http.post(f"{path}/chat/completions", json=CHAT)
    assert told(refused) == (503, "vendor_disabled", "no", False)
    assert "it repeats itself" in refused.json()["error"]["message"]
    assert (refused.headers["x-should-retry"], "retry-after" in refused.headers) == ("false", False)
    registry.switch(enabled=True, model_id="scripted", actor=ACTOR)
    surface.refresh()
    assert surface.http.post(f"{path}/chat/completions", json=CHAT).status_code == 200


def test_other_server_of_a_model_answers_while_one_is_switched_off(surface: Surface) -> None:
    configure(free_port(), "scripted")
    off = Backend.objects.filter(model_id="scripted").latest("id")
    registry.switch(enabled=False, model_id="scripted", base_url=off.base_url, off_reason="a new driver", actor=ACTOR)
    surface.refresh()
    assert surface.chat().status_code == 200


def test_frozen_realtime_api_says_why_in_the_words_of_each_surface(surface: Surface) -> None:
    freezes.switch(surface="realtime", frozen=True, actor=ACTOR, reason="a new rack")
    native, *others = (surface.http.post(path, json=body) for path, body in FROZEN)
    for answer in (native, *others):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert native.json() == {"error": "frozen", "message": WHY}
    for answer in others:
        assert told(answer) == (503, "frozen", "same", False)
        assert answer.json()["error"]["message"] == WHY
    assert surface.http.get("/v1/models").json()["data"]
