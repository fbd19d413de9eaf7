"""Clients of every surface, each over and over, that write down how they were answered and after how long."""

import json
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final

import httpx
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect

from tests.stack import Stack, send

PAUSE_S: Final = 0.4
# Longer than any request may take; what is not over by then hangs.
PATIENCE_S: Final = 60.0
COOKIE: Final = "anex_session"
FILE: Final = json.dumps(
    {
        "custom_id": "one",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "scripted", "max_tokens": 8, "messages": [{"role": "user", "content": "of a file"}]},
    }
).encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: when it was asked for, what it was, after how long; `wrong` says what it should not be."""

    asked_at: float
    surface: str
    status: int
    took_s: float
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Surface:
    """A request that is sent again and again, and the form in which its surface refuses one."""

    name: str
    method: str
    path: str
    form: str
    options: dict[str, Any] = field(default_factory=dict)
    needs: frozenset[str] = frozenset({"postgres"})


def chat(stream: bool = False) -> dict[str, Any]:
    """A request of eight tokens."""
    return {"model": "scripted", "max_tokens": 8, "messages": [{"role": "user", "content": "hi"}], "stream": stream}


def surfaces(*, done_job: str, file_id: str) -> list[Surface]:
    """One of each kind."""
    store = frozenset({"postgres", "store"})
    nothing = frozenset[str]()
    embed = {"json": {"model": "scripted-embed", "input": "hi"}}
    upload = {"files": {"file": ("rows.jsonl", FILE)}, "data": {"purpose": "batch"}}
    return [
        Surface("batch: jobs", "GET", "/batch/v1/jobs", "detail"),
        Surface("batch: one job", "GET", f"/batch/v1/jobs/{done_job}", "detail"),
        Surface("batch: result", "GET", f"/batch/v1/jobs/{done_job}/result", "detail", needs=store),
        Surface("batch: rows", "GET", f"/batch/v1/jobs/{done_job}/rows", "detail", needs=store),
        Surface("batch: input", "POST", "/batch/v1/inputs", "detail", {"json": {"format": "jsonl"}}),
        Surface("files: upload", "POST", "/v1/files", "error", upload, needs=store),
        Surface("files: list", "GET", "/v1/files", "error", needs=store),
        Surface("files: content", "GET", f"/v1/files/{file_id}/content", "error", needs=store),
        Surface("batches: list", "GET", "/v1/batches", "error", needs=store),
        Surface("realtime: chat", "POST", "/v1/chat/completions", "error", {"json": chat()}),
        Surface("realtime: stream", "POST", "/v1/chat/completions", "error", {"json": chat(stream=True)}),
        Surface("realtime: second", "POST", "/openai/v1/chat/completions", "error", {"json": chat()}),
        Surface("realtime: embeddings", "POST", "/realtime/v1/embeddings", "detail", embed),
        Surface("realtime: refused", "POST", "/v1/chat/completions", "error", {"json": {}}),
        Surface("realtime: models", "GET", "/v1/models", "error"),
        Surface("balance", "GET", "/v1/balance", "error"),
        Surface("console: dashboard", "GET", "/dashboard", "page"),
        Surface("console: job", "GET", f"/jobs/{done_job}", "page", needs=store),
        Surface("console: results", "GET", f"/jobs/{done_job}/results", "page", needs=store),
        Surface("console: sign-in", "GET", "/accounts/login/", "visitor"),
        Surface("live socket", "GET", f"/live/jobs?job={done_job}", "socket"),
        Surface("readyz", "GET", "/readyz", "text"),
        Surface("healthz", "GET", "/healthz", "text", needs=nothing),
        Surface("metrics", "GET", "/metrics", "text", needs=nothing),
        Surface("docs", "GET", "/docs", "page"),
    ]


class Client(threading.Thread):
    """Sends one surface's request until it is over; a whole answer ends with what it should."""

    def __init__(self, stack: Stack, session: str, surface: Surface, over: threading.Event) -> None:
        super().__init__(name=surface.name)
        self._surface = surface
        self.needs = surface.needs
        self._over = over
        self._origin = f"http://127.0.0.1:{stack.web_port}"
        self._session = session
        bearer = "metrics" if surface.name == "metrics" else stack.secret
        own = {"Cookie": f"{COOKIE}={session}"} if surface.form == "page" else {"Authorization": f"Bearer {bearer}"}
        self._http = httpx.Client(base_url=self._origin, headers=own, timeout=PATIENCE_S)
        self.answers: list[Answer] = []
        self.kept: list[str] = []

    def run(self) -> None:
        """One request after the other."""
        while not self._over.wait(PAUSE_S):
            began = time.monotonic()
            try:
                status, wrong = self._open_socket() if self._surface.form == "socket" else self._ask()
            except (httpx.TransportError, OSError, WebSocketException) as error:
                status, wrong = 0, type(error).__name__
            self.answers.append(Answer(began, self._surface.name, status, time.monotonic() - began, wrong))
        self._http.close()

    def _ask(self) -> tuple[int, str]:
        asked, options = self._surface, self._surface.options
        if "messages" in options.get("json", {}):
            # The second surface answers what it was asked before without another charge.
            text = f"hi {len(self.answers)}"
            options = {"json": options["json"] | {"messages": [{"role": "user", "content": text}]}}
        answer = self._http.request(asked.method, asked.path, **options)
        return answer.status_code, self._fault(answer)

    def _fault(self, answer: httpx.Response) -> str:
        surface, status = self._surface, answer.status_code
        if status == 503:
            return _refusal_fault(answer, surface.form)
        if surface.name == "files: upload" and status == 429:
            # Whose answer was lost may have its place, for a while.
            return "" if answer.json()["error"]["code"] == "too_many_uploads" else answer.text
        wanted = (400, 401) if surface.name == "realtime: refused" else (200, 201)
        if status not in wanted:
            return f"{status} {answer.text[:200]}"
        if surface.name == "realtime: stream" and not answer.text.endswith("data: [DONE]\n\n"):
            return f"no whole stream: {answer.text[-200:]}"
        if surface.name == "files: content" and answer.content != FILE:
            return "another content"
        if surface.name == "files: upload":
            self.kept.append(answer.json()["id"])
        return ""

    def _open_socket(self) -> tuple[int, str]:
        headers = {"Cookie": f"{COOKIE}={self._session}"}
        place = self._origin.replace("http", "ws") + self._surface.path
        origin: Any = self._origin
        try:
            with connect(place, origin=origin, additional_headers=headers, open_timeout=PATIENCE_S):
                return 200, ""
        except InvalidStatus as refused:
            status = refused.response.status_code
            return status, "" if status in (403, 503) else f"{status}"


def _refusal_fault(answer: httpx.Response, form: str) -> str:
    if not answer.headers.get("retry-after", "").isdecimal():
        return "503 without Retry-After"
    kind = answer.headers.get("content-type", "")
    if form in ("detail", "error"):
        told = answer.json() if kind == "application/json" else {}
        return "" if form in told else f"503 that is not told in {form}: {answer.text[:100]}"
    wanted = "text/plain" if form == "text" else "text/html"
    return "" if kind.startswith(wanted) else f"503 as {kind}"


class Submitter(threading.Thread):
    """Submits a job again and again, under the same key until it is taken; their ids by key."""

    def __init__(self, stack: Stack, input_id: str, over: threading.Event, most: int) -> None:
        super().__init__(name="batch: submit")
        self._stack = stack
        self._body = {"input_id": input_id, "model": "scripted", "max_output_tokens": 8}
        self._over = over
        self._most = most
        self.answers: list[Answer] = []
        self.ids: dict[str, str] = {}
        self._cancelled: set[str] = set()
        self._url = f"http://127.0.0.1:{stack.web_port}/batch/v1/jobs"

    def run(self) -> None:
        """One job after the other."""
        for number in range(self._most):
            key = f"submit-{number}"
            while not self._over.wait(PAUSE_S) and key not in self.ids:
                headers = {"Authorization": f"Bearer {self._stack.secret}", "Idempotency-Key": key}
                began = time.monotonic()
                try:
                    answer = httpx.post(self._url, json=self._body, headers=headers, timeout=PATIENCE_S)
                    status = answer.status_code
                    # A first attempt whose answer was lost may still be under way.
                    wrong = "" if status in (201, 409, 429) else _refusal_fault(answer, "detail")
                except httpx.TransportError as error:
                    status, wrong = 0, type(error).__name__
                if status == 201:
                    self.ids[key] = answer.json()["id"]
                    for job_id in set(self.ids.values()) - self._cancelled:
                        self._cancel(job_id)
                self.answers.append(Answer(began, self.name, status, time.monotonic() - began, wrong))

    def _cancel(self, job_id: str) -> None:
        """So that not too many wait for approval; one that is being estimated cannot be cancelled yet."""
        with suppress(OSError, HTTPException, ValueError):
            headers = {"Authorization": f"Bearer {self._stack.secret}"}
            status, _ = send(f"{self._url}/{job_id}/cancel", "POST", headers=headers)
            if status == 200:
                self._cancelled.add(job_id)


def all_answers(clients: Iterable[Client | Submitter]) -> list[Answer]:
    """Of everybody, in order."""
    return sorted((answer for client in clients for answer in list(client.answers)), key=lambda each: each.asked_at)
