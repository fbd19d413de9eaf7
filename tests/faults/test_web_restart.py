"""Web processes on one socket are replaced under load: every stream is whole, nobody sends twice, no hold stays."""

import asyncio
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import httpx
import pytest

from tests.stack import Stack

STREAM = "[[tokens 40]] [[pace 40]]"
CLIENTS = 4
STREAMS = 3
BOOKS = """
SELECT a.in_flight, a.held_nano, (SELECT count(*) FROM billing_hold WHERE settled_at IS NULL),
    (SELECT coalesce(sum(amount_nano), 0)::bigint FROM billing_transfer WHERE kind = 'charge' AND debit_id = a.id),
    (SELECT coalesce(sum(amount_nano), 0)::bigint FROM billing_usagerecord)
FROM billing_account a JOIN accounts_organization o ON o.id = a.organization_id
"""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as folder,
        Stack(Path(folder), workers=0, durable=False) as running,
    ):
        yield running


def body(text: str, **more: object) -> dict[str, object]:
    return {"model": "scripted", "max_tokens": 60, "messages": [{"role": "user", "content": text}], **more}


class Crowd:
    """Clients that send one request after the other, and some that hold streams; none ever sends anything twice."""

    def __init__(self, stack: Stack) -> None:
        self.client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{stack.web_port}",
            headers={"Authorization": f"Bearer {stack.secret}"},
            timeout=30,
        )
        self.over = asyncio.Event()
        self.seen: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def has_answers(self, more: int) -> None:
        """Until so many more were answered."""
        before = self.seen["200"]
        while self.seen["200"] < before + more:
            await asyncio.sleep(0.01)

    async def ask(self, *, keeps: bool) -> None:
        """One request after the other, on connections that are kept or not."""
        while not self.over.is_set():
            headers = {} if keeps else {"Connection": "close"}
            answer = await self.client.post("/v1/chat/completions", json=body("hi"), headers=headers)
            self.seen[f"{answer.status_code}"] += 1
            await asyncio.sleep(0.005)

    async def stream(self) -> None:
        """One stream, to its end."""
        async with self.client.stream("POST", "/v1/chat/completions", json=body(STREAM, stream=True)) as answer:
            whole = b"".join([block async for block in answer.aiter_bytes()])
        assert whole.endswith(b"data: [DONE]\n\n")
        assert b'"error"' not in whole
        self.seen["streams"] += 1


async def at_work(stack: Stack, count: int) -> None:
    """Until the model server has so many requests in work."""
    async with asyncio.timeout(10), httpx.AsyncClient() as client:
        while (await client.get(f"http://127.0.0.1:{stack.engine_port}/stats")).json()["in_flight"] < count:
            await asyncio.sleep(0.01)


async def replace(stack: Stack) -> Counter[str]:
    """One of two processes is told to end while it has all the streams; how the requests of the crowd ended."""
    async with Crowd(stack) as crowd, asyncio.timeout(30):
        # Nobody else accepts while the streams begin.
        stack.processes["web-2"].send_signal(signal.SIGSTOP)
        streams = [asyncio.create_task(crowd.stream()) for _ in range(STREAMS)]
        await at_work(stack, STREAMS)
        stack.processes["web-2"].send_signal(signal.SIGCONT)
        asking = [asyncio.create_task(crowd.ask(keeps=bool(number % 2))) for number in range(CLIENTS)]
        await crowd.has_answers(CLIENTS * 4)
        stack.processes["web"].send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(stack.processes["web"].wait) == -signal.SIGTERM
        assert all(stream.done() for stream in streams)
        await crowd.has_answers(CLIENTS * 4)
        crowd.over.set()
        await asyncio.gather(*streams, *asking)
        return crowd.seen


@pytest.mark.slow
def test_replaced_process_and_lost_database_lose_nothing(stack: Stack) -> None:
    stack.start_web("web-2")
    stack.wait_for_web("web-2")
    seen = asyncio.run(replace(stack))
    assert set(seen) == {"200", "streams"}
    assert seen["streams"] == STREAMS
    deadline = time.monotonic() + 10
    while (books := stack.query(BOOKS))[0][0] and time.monotonic() < deadline:
        time.sleep(0.05)
    ((in_flight, held, holds, charged, recorded),) = books
    assert (in_flight, held, holds) == (0, 0, 0)
    assert charged == recorded > 0
    records = dict(stack.query("SELECT status, count(*) FROM billing_usagerecord GROUP BY status"))
    assert records == {"answered": seen.total()}
    stack.postgres.stop()
    check_refusals(stack)


CALLS = [
    ("GET", "/v1/usage", None),
    ("GET", "/v1/balance", None),
    ("GET", "/batch/v1/jobs", None),
    ("POST", "/batch/v1/jobs", {}),
    ("POST", "/v1/chat/completions", body("hi")),
    ("POST", "/v1/chat/completions", {}),
    ("POST", "/realtime/v1/embeddings", {"model": "scripted"}),
]


def check_refusals(stack: Stack) -> None:
    """Without a database every surface says in its own shape when to come back."""
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{stack.web_port}", headers={"Authorization": f"Bearer {stack.secret}"}, timeout=30
    )
    with client:
        for method, path, asked in CALLS:
            answer = client.request(method, path, json=asked)
            assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), (path, answer.text)
            shape = "error" if path.startswith("/v1") else "detail"
            assert list(answer.json()) == [shape]
        assert client.get("/v1/models").status_code == 200
        page = client.get("/accounts/login/", headers={"Cookie": "anex_session=" + "a" * 32})
        assert page.status_code == 503
