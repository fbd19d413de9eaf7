"""What holds of every realtime path: keys, methods, bodies, ids of requests, and the shape of refusals of each host."""

import gzip
import json
import socket

import pytest
from backports import zstd
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from accounts.models import Freeze, Organization
from accounts.services import keys, organizations
from anex.core.actors import system
from billing.models import UsageRecord
from inference.backends import registry
from inference.requests import bodies
from realtime.threads import LONG_BYTES as LONG
from tests.factories import make_key, make_organization
from tests.models_folder import ModelsFolder
from tests.realtime.served import Surface

EMBED = {"model": "scripted-embed", "input": "a"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("systemone", {"model": "laya"}, 503),
        ("embeddings", {"model": "qwen3-embedding-8b", "input": "a"}, 501),
        ("embeddings", {"model": "gemma4-12b", "input": "a"}, 501),
        ("embeddings", {"model": "scripted-decide", "input": "a"}, 400),
        ("systemone", {"model": "scripted-embed"}, 400),
        ("systemone", {"model": "nobody"}, 404),
        ("systemone", {}, 422),
        ("systemone", [], 422),
    ],
)
def test_model_that_cannot_answer_is_refused_with_the_reason(surface: Surface, path, body, status) -> None:
    answer = surface.http.post(f"/realtime/v1/{path}", json=body)
    assert answer.status_code == status
    assert "detail" in answer.json()
    assert ("retry-after" in answer.headers) is (status == 503)


def test_model_of_another_task_is_sent_only_where_it_may_be_answered(surface: Surface) -> None:
    sent, not_served = (
        surface.http.post("/v1/embeddings", json={"model": name, "input": "a"}) for name in ("scripted", "qwen3-14b")
    )
    assert (sent.status_code, sent.json()["error"]["code"]) == (400, "invalid_request")
    assert "POST /v1/chat/completions" in sent.text
    assert (not_served.status_code, not_served.json()["error"]["code"]) == (501, "not_served")


def test_wrong_keys_are_told_so_before_anything_else(surface: Surface) -> None:
    stranger = {"Authorization": "Bearer sk-" + "x" * 55}
    for headers, native in (({}, 422), ({"Authorization": "Bearer nonsense"}, 401), (stranger, 401)):
        for body in (EMBED, {}):
            surface.http.headers.pop("Authorization", None)
            answer = surface.http.post("/realtime/v1/embeddings", json=body, headers=headers)
            assert answer.status_code == native
            assert list(answer.json()) == ["detail"]
            answer = surface.http.post("/v1/embeddings", json=body, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
            assert answer.headers["www-authenticate"] == "Bearer"


def test_custom_model_of_another_organization_does_not_exist(surface: Surface, operator: ModelsFolder) -> None:
    operator.add("acme-chat", organization="0f0e0d0c-0b0a-4908-8706-050403020100")
    for path, body in (("/realtime/v1/embeddings", {"input": "a"}), ("/v1/chat/completions", {"messages": []})):
        answer = surface.http.post(path, json={"model": "acme-chat", **body})
        assert answer.status_code == 404
        assert "unknown model 'acme-chat'" in answer.text


def test_methods_and_bodies_that_are_not_taken(surface: Surface) -> None:
    answers = [
        surface.http.get("/v1/embeddings"),
        surface.http.post("/v1/models"),
        surface.http.post("/v1/embeddings", content=b"{}", headers={"Content-Type": "text/plain"}),
        surface.http.post("/v1/embeddings", json=EMBED, headers={"Content-Encoding": "gzip"}),
        surface.http.post("/v1/embeddings", content=b"{", headers={"Content-Type": "application/json"}),
        surface.http.post("/v1/embeddings", content=b" " * (32 * 1024 * 1024 + 1)),
    ]
    assert [answer.status_code for answer in answers] == [405, 405, 415, 415, 400, 413]
    assert all(isinstance(answer.json()["error"]["code"], str) for answer in answers)
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
    assert answers[0].headers["allow"] == "POST"
    assert not UsageRecord.objects.exists()


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("path", ["/v1/systemone", "/realtime/v1/systemone"])
def test_decisions_take_compressed_bodies_within_the_cap(surface: Surface, compress, path) -> None:
    name = "gzip" if compress is gzip.compress else "zstd"
    asked = {"model": "scripted-decide", "state": "a", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}
    headers = {"Content-Encoding": name, "Content-Type": "application/json"}

    def status(content: bytes) -> int:
        return surface.http.post(path, content=content, headers=headers).status_code

    misshapen = 422 if path.startswith("/realtime") else 400
    assert status(compress(json.dumps(asked).encode())) == 200
    assert status(compress(b" " * (33 * 1024 * 1024))) == 413
    assert status(compress(json.dumps(asked).encode())[:-5]) == misshapen
    assert status(b"plain") == misshapen
    whole = json.dumps(asked).encode()
    assert status(compress(whole[:9]) + compress(whole[9:])) == 200
    assert status(compress(whole) + b"more") == misshapen
    assert status(compress(whole) + compress(b"") * 100) == misshapen


def test_long_bodies_of_strangers_are_not_read(surface: Surface) -> None:
    """They say that they are strangers long before the body is there."""
    host = ("127.0.0.1", surface.port)
    unknown = f"Bearer sk-{'x' * 52}"
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: {unknown}\r\nContent-Type: application/json\r\n"
    for size, sent in ((f"Content-Length: {LONG * 9}", b"x" * (LONG + 1)), ("Transfer-Encoding: chunked", b"")):
        chunk = sent or b"%x\r\n%s\r\n" % (LONG + 1, b"x" * (LONG + 1))
        with socket.create_connection(host, timeout=20) as connection:
            connection.sendall(f"{head}{size}\r\n\r\n".encode() + chunk)
            assert connection.recv(12) == b"HTTP/1.1 401"
    bomb = zstd.compress(b" " * (33 * 1024 * 1024))
    headers = {"Content-Encoding": "zstd", "Content-Type": "application/json", "Authorization": unknown}
    assert surface.http.post("/v1/systemone", content=bomb, headers=headers).status_code == 401


def test_long_bodies_are_answered_like_short_ones(surface: Surface) -> None:
    chat = {"model": "scripted", "messages": [{"role": "user", "content": "[[echo]] a"}]}
    for path, asked in (("chat/completions", chat), ("embeddings", EMBED | {"input": ["a"] * 100})):
        short, long = (surface.http.post(f"/v1/{path}", json=asked | {"user": "x" * size}) for size in (1, 2 * LONG))
        assert (short.status_code, long.status_code) == (200, 200)
        for one in ("usage", "data"):
            assert short.json().get(one) == long.json().get(one)
    refused = surface.http.post("/v1/embeddings", content=b'{"input":[' + b"[]," * bodies.MOST_VALUES + b"0]}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
    assert "250,000 values" in refused.text
    surface.settled(4)


def test_limits_of_keys_and_organizations_hold(surface: Surface) -> None:
    acme = Organization.objects.get()

    def ask(**headers: str) -> tuple[int, str | None]:
        answer = surface.http.post("/v1/embeddings", json=EMBED, headers=headers)
        return answer.status_code, answer.json().get("error", {}).get("code")

    def key(**limits: object) -> str:
        return make_key(acme, **limits).header

    assert ask()[0] == 200
    assert ask(Authorization=key(scopes=frozenset({"text:write"})))[0] == 403
    assert ask(Authorization=key(models=frozenset({"scripted"})))[0] == 403
    poor = make_key(make_organization("Globex"))
    answer = surface.http.post("/v1/embeddings", json=EMBED, headers={"Authorization": poor.header})
    assert (answer.status_code, answer.headers["x-should-retry"]) == (402, "false")
    Freeze.objects.update_or_create(pk="realtime", defaults={"frozen_at": timezone.now()})
    frozen = surface.http.post("/realtime/v1/embeddings", json=EMBED)
    assert (frozen.status_code, frozen.json()["error"]) == (503, "frozen")
    Freeze.objects.update(frozen_at=None)
    organizations.suspend(organization_id=acme.pk, reason="a test", actor=system("tests"))
    assert ask() == (403, "org_suspended")
    surface.settled(1)


@pytest.mark.parametrize("error", [OperationalError("no such host db-1"), InterfaceError("closed by db-1")])
def test_realtime_answers_503_where_a_key_cannot_be_looked_up(
    surface: Surface, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise error

    monkeypatch.setattr(keys, "authenticate", away)
    answers = [surface.http.post(f"/{path}/embeddings", json={}) for path in ("v1", "realtime/v1")]
    for answer in answers:
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "db-1" not in answer.text
    assert answers[0].json()["error"]["code"] == "unavailable"
    assert list(answers[1].json()) == ["detail"]


def test_eea_answers_organizations_that_are_routed_there(surface: Surface, settings) -> None:
    registry.configure(
        model_id="scripted-embed", base_url="http://127.0.0.1:9/v1", served_name="m", region="eu", actor=system("tests")
    )
    settings.ANEX_REGION = "eu"
    surface.refresh()
    for path, shape in (("/realtime/v1", "detail"), ("/v1", "error")):
        refused = surface.http.post(f"{path}/embeddings", json=EMBED)
        assert (refused.status_code, list(refused.json())) == (403, [shape])
        assert "EU data routing is not enabled for this organization." in refused.text
        assert refused.headers["x-should-retry"] == "false"
    organization = Organization.objects.get(pk=surface.key.caller.organization_id)
    organizations.route_to_eu(organization_id=organization.pk, enabled=True, actor=system("tests"), reason="asked")
    assert surface.http.post("/realtime/v1/embeddings", json=EMBED).status_code == 502
