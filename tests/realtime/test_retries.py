"""Requests that are sent again: charged once, and on `/openai/v1` given the answer of the first."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
import redis
from django.conf import settings

from accounts.models import Organization
from billing import request_keys
from billing.models import RequestKey, UsageRecord
from billing.selectors import turns
from tests.factories import grant_credits, make_key, make_organization
from tests.realtime.served import Surface, until

FIRST, SECOND = "/v1/chat/completions", "/openai/v1/chat/completions"
SLOW = "[[tokens 20]] [[pace 25]] hi"
HELD = "[[tokens 20]] [[hold]] hi"


def body(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], "max_tokens": 40} | more


def ask(surface: Surface, path: str = SECOND, key: str | None = None, text: str = "hi", **more: Any) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return surface.http.post(path, json=body(text, **more), headers=headers)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def costs(surface: Surface) -> list[int]:
    return [record.amount_nano for record in surface.settled(UsageRecord.objects.count()) if record.amount_nano]


def at_work(surface: Surface) -> None:
    until(lambda: UsageRecord.objects.count() == 0 and RequestKey.objects.count() == 1)


@pytest.fixture
def meanwhile() -> Iterator[Callable[..., Any]]:
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


@pytest.fixture
def valkey() -> Iterator[Any]:
    """Where answers are kept; those of tests in other processes are there too."""
    with redis.Redis.from_url(settings.CELERY_BROKER_URL) as client:
        yield client


def kept(valkey: Any) -> list[str]:
    names = [f"anex-answer:{record.source}" for record in UsageRecord.objects.all()]
    return [name for name in names if valkey.exists(name)]


def test_key_is_the_same_in_header_field_and_path(surface, valkey) -> None:
    first = ask(surface, key="schlüssel".encode())  # type: ignore[arg-type]
    assert first.status_code == 200
    surface.settled(1)
    assert turns.find_by_key(surface.key.caller.organization_id, "schlüssel").status == "answered"
    assert code(ask(surface, idempotency_key="schlüssel")) == (409, "idempotency_key_reused")


def test_named_key_on_v1_is_in_flight_then_settled_and_no_answer_is_kept(surface, meanwhile, valkey, scripted) -> None:
    first = meanwhile(ask, surface, FIRST, "a key", HELD)
    until(lambda: scripted.stats()["held"] == 1)
    refused = ask(surface, FIRST, "a key", HELD)
    assert (code(refused), refused.headers["retry-after"]) == ((409, "in_flight"), "1")
    scripted.release()
    assert first.result().status_code == 200
    assert "x-anex-job-id" not in first.result().headers
    settled = ask(surface, FIRST, "a key", HELD)
    assert (code(settled), settled.headers["x-should-retry"]) == ((409, "key_settled"), "false")
    assert settled.json()["error"]["retry"] == "new_key"
    assert code(ask(surface, FIRST, "a key", "other words")) == (409, "idempotency_key_reused")
    # The same key, folded, in the body.
    folded = request_keys.fold("a key")
    assert code(ask(surface, FIRST, text=HELD, idempotency_key=folded)) == (409, "idempotency_key_reused")
    assert [ask(surface, FIRST).status_code for _ in range(2)] == [200, 200]
    assert len(costs(surface)) == 3
    assert not kept(valkey)


@pytest.mark.parametrize("named", [None, "mine", "a key of mine"])
@pytest.mark.parametrize("stream", [True, False])
def test_repeated_request_on_the_second_surface_is_given_the_first_ones_answer(surface, named, stream) -> None:
    first = ask(surface, key=named, stream=stream, text=f"hi {named} {stream}")
    again = ask(surface, key=named, stream=stream, text=f"hi {named} {stream}")
    assert (first.status_code, first.content) == (200, again.content)
    assert first.headers["x-anex-job-id"] == again.headers["x-anex-job-id"]
    assert first.headers["content-type"] == again.headers["content-type"]
    assert first.headers.get("x-anex-credits-charged") == again.headers.get("x-anex-credits-charged")
    assert ask(surface, key="another", stream=stream, text=f"hi {named} {stream}").status_code == 200
    records = surface.settled(2)
    assert records[0].source == f"req:{first.headers['x-anex-job-id']}"
    if not stream:
        assert float(first.headers["x-anex-credits-charged"]) == records[0].amount_nano / 10_000_000
    assert len(costs(surface)) == 2


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("path", "text"), [("responses", "input"), ("completions", "prompt")])
def test_every_text_protocol_is_answered_once(surface: Surface, path: str, text: str, stream: bool) -> None:
    asked = {"model": "scripted", text: "hi", "stream": stream}

    def post(prefix: str, **more: Any) -> httpx.Response:
        return surface.http.post(f"/{prefix}/{path}", json=asked | more)

    first, again = post("openai/v1"), post("openai/v1")
    assert (first.status_code, first.content) == (200, again.content)
    named = [post("v1", idempotency_key="mine") for _ in range(2)]
    assert [answer.status_code for answer in named] == [200, 409]
    # A key names a turn, in whichever protocol it was asked for.
    assert code(ask(surface, FIRST, "mine")) == (409, "idempotency_key_reused")
    assert len(costs(surface)) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_request_that_is_being_answered_is_waited_for(surface: Surface, meanwhile, stream) -> None:
    several = [meanwhile(ask, surface, text=SLOW, stream=stream) for _ in range(4)]
    assert len({answer.result().content.replace(b": keep-alive\n\n", b"") for answer in several}) == 1
    assert len(costs(surface)) == 1


def test_answer_goes_on_without_its_client_who_finds_it_when_it_returns(surface: Surface) -> None:
    with pytest.raises(httpx.ReadTimeout):
        surface.http.post(SECOND, json=body(SLOW), timeout=0.2)
    answer = ask(surface, text=SLOW)
    assert answer.json()["choices"][0]["message"]["content"]
    (record,) = surface.settled()
    assert (record.status, f"req:{answer.headers['x-anex-job-id']}") == ("answered", record.source)


def test_stream_that_is_left_ends_and_leaves_a_derived_key_but_not_a_named_one(surface: Surface) -> None:
    for key in (None, "mine"):
        headers = {} if key is None else {"Idempotency-Key": key}
        with surface.http.stream("POST", SECOND, json=body(SLOW, stream=True), headers=headers) as answer:
            for _, line in zip(range(6), answer.iter_lines(), strict=False):
                assert not line or line.startswith("data: ")
    records = surface.settled(2)
    assert [record.status for record in records] == ["left", "left"]
    assert code(ask(surface, key="mine", text=SLOW, stream=True)) == (409, "key_settled")
    assert ask(surface, text=SLOW, stream=True).text.endswith("data: [DONE]\n\n")


def test_answer_is_given_again_to_no_other_api_key(surface: Surface, meanwhile) -> None:
    here = Organization.objects.get()
    elsewhere = make_organization("Other")
    grant_credits(elsewhere)
    colleague, stranger = (make_key(whose).header for whose in (here, elsewhere))

    def post(authorization: str, text: str, *, stream: bool = False) -> httpx.Response:
        headers = {"Authorization": authorization, "Idempotency-Key": "mine"}
        return httpx.post(f"{surface.origin}{SECOND}", json=body(text, stream=stream), headers=headers, timeout=30)

    first = meanwhile(post, surface.key.header, SLOW)
    at_work(surface)
    waited = post(colleague, SLOW)
    assert first.result().content == post(surface.key.header, SLOW).content
    assert {code(waited), code(post(colleague, SLOW))} == {(409, "key_settled")}
    others = post(stranger, SLOW)
    assert others.status_code == 200
    assert others.json()["id"] != first.result().json()["id"]
    assert code(post(stranger, SLOW, stream=True)) == (409, "idempotency_key_reused")
    surface.settled()
    assert UsageRecord.objects.filter(amount_nano__gt=0).count() == 2


def test_refused_stream_that_delivered_something_is_given_again(surface: Surface) -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    demand: dict[str, Any] = {"tools": [tool], "tool_choice": "required", "reasoning_effort": "high", "stream": True}
    unmet = [ask(surface, text="[[calls 0]] [[think 7]]", **demand) for _ in range(2)]
    assert unmet[0].content == unmet[1].content
    assert b"tool_choice_unmet" in unmet[0].content
    assert len(costs(surface)) == 1
    # What delivered nothing was free, and is tried again.
    free = [ask(surface, text="[[calls 0]]", **demand | {"stream": False}) for _ in range(2)]
    assert [(answer.status_code, answer.headers["x-anex-credits-charged"]) for answer in free] == [(422, "0")] * 2
    assert free[0].headers["x-anex-job-id"] != free[1].headers["x-anex-job-id"]


def test_official_client_survives_a_failure_and_pays_once(surface: Surface) -> None:
    with openai.OpenAI(base_url=f"{surface.origin}/openai/v1", api_key=surface.key.secret, max_retries=2) as client:
        answer = client.chat.completions.create(**body("[[status 500 1]] hi"))
    assert answer.choices[0].message.content
    assert [record.status for record in surface.settled(2)] == ["failed", "answered"]
    assert RequestKey.objects.get().tries == 2


def test_answer_that_outlives_its_connection_is_found_by_the_clients_own_retries(patient, settings) -> None:
    settings.ANEX_PUBLIC_URL = "https://api.example"
    surface = patient(connection_s=0.3)
    late = ask(surface, key="mine", text=SLOW)
    assert code(late) == (504, "run_timed_out")
    assert (late.headers["retry-after"], late.headers["x-should-retry"]) == ("1", "true")
    error = late.json()["error"]
    assert (error["charged"], error["retry"], error["idempotency_key"]) == (True, "same", "mine")
    assert error["status_url"] == "https://api.example/openai/v1/jobs/chat_mine"
    with openai.OpenAI(base_url=f"{surface.origin}/openai/v1", api_key=surface.key.secret, max_retries=2) as client:
        assert client.chat.completions.create(**body(SLOW + " once more")).choices[0].message.content
    assert ask(surface, key="mine", text=SLOW).status_code == 200
    assert len(costs(surface)) == 2


def test_slow_answer_is_begun_early_and_its_failure_told_under_the_200(patient, scripted) -> None:
    surface = patient(commit_s=0.05, keep_alive_s=0.05, connection_s=2.5)
    answer = ask(surface, text=SLOW)
    assert answer.content.startswith(b"   ")
    assert answer.json()["choices"][0]["message"]["content"]
    assert answer.headers["x-anex-job-id"]
    assert "x-anex-credits-charged" not in answer.headers
    surface.settled()
    assert ask(surface, text=SLOW).headers["x-anex-credits-charged"]
    broken = ask(surface, text="[[sleep 200]] [[drop]]")
    assert (broken.status_code, broken.json()["error"]["code"]) == (200, "upstream_error")
    late = ask(surface, text=HELD)
    assert (late.status_code, late.json()["error"]["code"]) == (200, "run_timed_out")
    scripted.release()
    assert ask(surface, text=HELD).json()["choices"]


def test_stream_that_waits_too_long_for_another_ends_in_an_error(patient, meanwhile, scripted) -> None:
    surface = patient(commit_s=0.05, keep_alive_s=0.05, connection_s=0.3)
    first = meanwhile(ask, surface, text=HELD, stream=True)
    until(lambda: scripted.stats()["held"] == 1)
    second = ask(surface, text=HELD, stream=True)
    assert second.text.startswith(": keep-alive\n\n")
    assert '"run_timed_out"' in second.text
    assert second.text.endswith("data: [DONE]\n\n")
    scripted.release()
    assert first.result().text.endswith("data: [DONE]\n\n")
    assert len(costs(surface)) == 1


def test_kept_answer_is_encrypted_and_gone_after_ten_minutes(surface: Surface, valkey: Any) -> None:
    text = ask(surface).json()["choices"][0]["message"]["content"]
    surface.settled()
    (name,) = kept(valkey)
    assert 590 < valkey.ttl(name) <= 600
    assert text.encode() not in valkey.get(name)
    valkey.delete(name)
    lost = ask(surface)
    assert (code(lost), lost.headers["x-should-retry"]) == ((409, "key_settled"), "false")


def test_key_of_embeddings_is_settled_once_it_is_served(surface: Surface) -> None:
    def embed(path: str = "/openai/v1/embeddings", text: str = "a", key: str = "", **more: Any) -> httpx.Response:
        asked = {"model": "scripted-embed", "input": text} | more
        return surface.http.post(path, json=asked, headers={"Idempotency-Key": key} if key else {})

    answer = embed(key="mine")
    assert answer.json()["credits_charged"] == float(answer.headers["x-anex-credits-charged"]) > 0
    assert code(embed(key="mine")) == (409, "key_settled")
    assert code(embed(text="[[status 500 1]] b", key="other")) == (502, "upstream_error")
    assert embed(text="[[status 500 1]] b", key="other").status_code == 200
    assert code(embed(idempotency_key="two words")) == (400, "invalid_idempotency_key")
    assert code(embed(idempotency_key=7)) == (400, "invalid_idempotency_key")
    assert [embed(key="two words").status_code for _ in range(2)] == [200, 409]
    assert [embed().status_code for _ in range(2)] == [200, 200]
    assert [embed("/v1/embeddings", idempotency_key="x").status_code for _ in range(2)] == [200, 409]
    assert "credits_charged" not in embed("/v1/embeddings").json()
    assert len(costs(surface)) == 7
