"""Clients of every surface, each with one request after the other; none of them ever sends anything twice."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Self

import httpx
import websockets
from websockets.exceptions import ConnectionClosed

from tests.faults.books import chat_lines
from tests.stack import Stack

PREPARED: Final = """
import json, django
django.setup()
from django.test import Client
from accounts.models import User
from anex.core.actors import system
from inference.backends import registry
registry.configure(model_id="scripted-embed", base_url="http://127.0.0.1:{port}/v1", served_name="scripted-embed",
                   concurrency=64, actor=system("test"))
ada = Client()
ada.force_login(User.objects.get())
print(json.dumps({{name: morsel.value for name, morsel in ada.cookies.items()}}))
"""
STREAM: Final = "[[tokens 25]] [[pace 20]]"
ROW: Final = (
    b'{"custom_id": "%d", "method": "POST", "url": "/v1/chat/completions",'
    b' "body": {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}}\n'
)
FILE: Final = b"".join(ROW % row for row in range(1000))
FILE_BLOCKS: Final = 10
# What the realtime surfaces of these clients are called in the records.
REALTIME: Final = {"chat": ("chat", "fresh chat", "stream", "fresh stream"), "embeddings": ("embeddings",)}


class Wrong(Exception):
    """An answer that none of these requests should have."""


class Crowd:
    """`seen` counts what was answered well, by kind; `wrong` tells everything else."""

    def __init__(self, stack: Stack, *, rows: int) -> None:
        self._address = f"127.0.0.1:{stack.web_port}"
        self._key = {"Authorization": f"Bearer {stack.secret}"}
        self._cookies = json.loads(stack.run(PREPARED.format(port=stack.engine_port)))
        self._rows = rows
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.jobs: dict[str, list[str]] = {}

    async def is_expected(self) -> None:
        """Until the one web process there is knows the servers of all these models."""
        async with asyncio.timeout(60), httpx.AsyncClient(base_url=f"http://{self._address}") as client:
            while "scripted-embed" not in (await self._ask(client, "GET", "/v1/models")).text:
                await asyncio.sleep(0.05)

    async def __aenter__(self) -> Self:
        kinds: dict[str, Callable[[httpx.AsyncClient], Awaitable[None]]] = {
            "chat": self._chat,
            "fresh chat": self._chat,
            "stream": self._stream,
            "fresh stream": self._stream,
            "embeddings": self._embed,
            "reads": self._read,
            "files": self._keep_file,
            "pages": self._look,
            "sockets": self._listen,
            "jobs": self._run_job,
        }
        self._tasks = [asyncio.create_task(self._go_on(kind, one)) for kind, one in kinds.items()]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        await asyncio.gather(*self._tasks)

    async def has_answers(self, more: int) -> None:
        """Until so many more of each kind were answered, but for jobs, which take their time."""
        before = Counter(self.seen)
        while any(self.seen[kind] < before[kind] + more for kind in self._kinds()) and not self.wrong:
            await asyncio.sleep(0.02)

    def _kinds(self) -> list[str]:
        return [task.get_name() for task in self._tasks if task.get_name() not in ("jobs", "sockets")]

    async def _go_on(self, kind: str, one: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
        asyncio.current_task().set_name(kind)  # type: ignore[union-attr]
        headers = {"Connection": "close"} if kind.startswith("fresh") else {}
        async with httpx.AsyncClient(base_url=f"http://{self._address}", headers=headers, timeout=60) as client:
            while not self._over.is_set():
                try:
                    await one(client)
                    self.seen[kind] += 1
                except Exception as error:
                    self.wrong.append(f"{kind}: {error!r}")
                # Connections are free for longer and shorter than a process that ends waits for them.
                await asyncio.sleep(random.expovariate(20))

    async def _ask(self, client: httpx.AsyncClient, method: str, path: str, **more: Any) -> httpx.Response:
        answer = await client.request(method, path, **{"headers": self._key, **more})
        if not answer.is_success:
            raise Wrong(method, path, answer.status_code, answer.text[:300])
        return answer

    async def _chat(self, client: httpx.AsyncClient) -> None:
        answer = await self._ask(client, "POST", "/v1/chat/completions", json=asked("[[echo]] well"))
        if answer.json()["choices"][0]["message"]["content"].strip() != "well":
            raise Wrong(answer.text)

    async def _stream(self, client: httpx.AsyncClient) -> None:
        body = asked(STREAM, stream=True)
        async with client.stream("POST", "/v1/chat/completions", json=body, headers=self._key) as answer:
            whole = b"".join([block async for block in answer.aiter_bytes()])
        if answer.status_code != 200 or b'"error"' in whole or not whole.endswith(b"data: [DONE]\n\n"):
            raise Wrong(answer.status_code, whole[-300:])

    async def _embed(self, client: httpx.AsyncClient) -> None:
        body = {"model": "scripted-embed", "input": ["a text", "another"]}
        answer = await self._ask(client, "POST", "/v1/embeddings", json=body)
        if len(answer.json()["data"]) != 2:
            raise Wrong(answer.text[:300])

    async def _read(self, client: httpx.AsyncClient) -> None:
        for path in ("/batch/v1/jobs", "/v1/balance", "/v1/models", "/v1/batches"):
            await self._ask(client, "GET", path)

    async def _keep_file(self, client: httpx.AsyncClient) -> None:
        """An upload that takes a while, and what was kept of it."""
        kind = {**self._key, "Content-Type": "multipart/form-data; boundary=b"}
        file = (await self._ask(client, "POST", "/v1/files", content=_form(), headers=kind)).json()
        kept = await self._ask(client, "GET", f"/v1/files/{file['id']}/content")
        if kept.content != FILE:
            raise Wrong("another file", len(kept.content))

    async def _look(self, client: httpx.AsyncClient) -> None:
        paths = ["/dashboard", "/jobs", *(f"/jobs/{job_id}" for job_id in list(self.jobs)[-1:]), "/docs"]
        for path in paths:
            await self._ask(client, "GET", path, headers={"Cookie": _joined(self._cookies)})

    async def _listen(self, _: httpx.AsyncClient) -> None:
        """A page that is told of a job until its process ends, and connects again."""
        if not self.jobs:
            return
        url = f"ws://{self._address}/live/jobs?job={list(self.jobs)[-1]}"
        headers = {"Cookie": _joined(self._cookies)}
        page = websockets.connect(url, origin=f"http://{self._address}", additional_headers=headers)  # type: ignore[arg-type]
        try:
            async with page as socket:
                while not self._over.is_set():
                    async with asyncio.timeout(0.5):
                        await socket.recv()
        except TimeoutError:
            return
        except ConnectionClosed as closed:
            if closed.rcvd is None or closed.rcvd.code != 1012:
                raise

    async def _run_job(self, client: httpx.AsyncClient) -> None:
        """From the upload of its rows to the last line of its result."""
        lines = chat_lines(self._rows, prefix=f"job{len(self.jobs)}")
        created = (await self._ask(client, "POST", "/batch/v1/inputs", json={"format": "jsonl"})).json()
        file = {"file": ("rows.jsonl", "".join(line + "\n" for line in lines).encode())}
        await self._ask(client, "POST", created["upload_url"], data=created["fields"], files=file, headers={})
        body = {"input_id": created["id"], "model": "scripted", "max_output_tokens": 16}
        job_id = (await self._ask(client, "POST", "/batch/v1/jobs", json=body)).json()["id"]
        self.jobs[job_id] = lines
        await self._until(client, job_id, "cost_ready")
        await self._ask(client, "POST", f"/batch/v1/jobs/{job_id}/approve")
        await self._until(client, job_id, "done")
        url = (await self._ask(client, "GET", f"/batch/v1/jobs/{job_id}/result")).json()["result_url"]
        result = await self._ask(client, "GET", url, headers={})
        if len(result.text.splitlines()) != len(lines):
            raise Wrong(job_id, len(result.text.splitlines()), "lines")

    async def _until(self, client: httpx.AsyncClient, job_id: str, wanted: str) -> None:
        async with asyncio.timeout(120):
            while (job := (await self._ask(client, "GET", f"/batch/v1/jobs/{job_id}")).json())["status"] != wanted:
                if job["status"] in ("failed", "cancelled", "done"):
                    raise Wrong(job)
                await asyncio.sleep(0.1)


def asked(text: str, **more: object) -> dict[str, object]:
    """A request to the scripted model."""
    return {"model": "scripted", "max_tokens": 60, "messages": [{"role": "user", "content": text}], **more}


def _joined(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


async def _form() -> AsyncIterator[bytes]:
    yield b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
    size = -(-len(FILE) // FILE_BLOCKS)
    for start in range(0, len(FILE), size):
        yield FILE[start : start + size]
        await asyncio.sleep(0.02)
    yield b"\r\n--b--\r\n"
