"""Web processes on one socket and workers are replaced under load: no request fails, no row is lost or sent twice."""

import asyncio

import httpx
import pytest

from tests.faults import restarts
from tests.faults.crowd import Crowd, asked
from tests.stack import Stack

CALLS = [
    ("GET", "/v1/usage", None),
    ("GET", "/v1/balance", None),
    ("GET", "/batch/v1/jobs", None),
    ("POST", "/batch/v1/jobs", {}),
    ("POST", "/v1/chat/completions", asked("hi")),
    ("POST", "/v1/chat/completions", {}),
    ("POST", "/realtime/v1/embeddings", {"model": "scripted"}),
]


@pytest.mark.slow
def test_replaced_processes_and_lost_database_lose_nothing() -> None:
    with restarts.platform(durable=False, workers=1) as stack:
        crowd = Crowd(stack, rows=150)
        figures = asyncio.run(restarts.play(stack, crowd, webs=1, workers=1))
        restarts.check(stack, crowd)
        assert figures.replaced == {"web": 1, "worker": 1}
        stack.postgres.stop()
        check_refusals(stack)


def check_refusals(stack: Stack) -> None:
    """Without a database every surface says in its own shape when to come back."""
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{stack.web_port}", headers={"Authorization": f"Bearer {stack.secret}"}, timeout=30
    )
    with client:
        for method, path, body in CALLS:
            answer = client.request(method, path, json=body)
            assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), (path, answer.text)
            shape = "error" if path.startswith("/v1") else "detail"
            assert list(answer.json()) == [shape]
        assert client.get("/v1/models").status_code == 200
        page = client.get("/accounts/login/", headers={"Cookie": "anex_session=" + "a" * 32})
        assert page.status_code == 503
