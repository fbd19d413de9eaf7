"""The HTTP side of the scripted engine: routes, keys, the journal, and faults carried out."""

import asyncio
import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from inference.counting.words import count_messages
from inference.engines.refusals import Refusal, error_body
from inference.engines.scripted import bodies, chat, completions, decisions, embeddings
from inference.engines.scripted.faults import Directives, Faults, Plan, directives
from inference.engines.scripted.options import Options
from inference.engines.scripted.words import last_user_text, pieces

VERSION = "0.32.0+scripted"
BODY_LIMIT = 320 * 1024 * 1024
EXIT_ON_REQUEST = 9


@dataclass(frozen=True, slots=True)
class Served:
    """An answer ready to be sent: a whole body, or the chunks of a stream."""

    body: dict[str, Any] | None = None
    chunks: Iterator[dict[str, Any]] | None = None


Answerer = Callable[[dict[str, Any], Directives, str], Served]
PromptReader = Callable[[dict[str, Any]], str]


class Gate:
    """Where held streams wait until they are let go, or their clients have left."""

    def __init__(self) -> None:
        self.waiting = 0
        self._opened = asyncio.Event()

    def open(self) -> None:
        """Let go whoever waits; who comes later waits again."""
        self._opened.set()
        self._opened = asyncio.Event()

    async def wait(self, http: web.Request) -> None:
        """ConnectionResetError where the client has left."""
        opened = self._opened
        self.waiting += 1
        try:
            while not opened.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(opened.wait(), 0.05)
                if http.transport is None or http.transport.is_closing():
                    raise ConnectionResetError
        finally:
            self.waiting -= 1


class Engine:
    """The state of one server: counters, prefixes seen, the journal's descriptor."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.in_flight = 0
        self.gate = Gate()
        self.forget()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._journal = os.open(options.journal, flags, 0o644) if options.journal else None

    def forget(self) -> None:
        """Begin anew: what was asked before makes no difference to what is asked from here on."""
        self.faults = Faults(self.options)
        self.prefixes = bodies.Prefixes()
        self.requests = self.peak = 0
        self.gate.open()

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=BODY_LIMIT)
        for path, read, answer in (
            ("/v1/chat/completions", _chat_prompt, self._chat),
            ("/v1/completions", completions.prompt_of, self._completion),
            ("/v1/embeddings", embeddings.prompt_of, self._embedding),
            ("/v1/systemone", decisions.state_of, self._decision),
        ):
            app.router.add_post(path, self._handler(read, answer))
        app.router.add_post("/tokenize", self._tokenize)
        for path, body in (("/health", {}), ("/version", {"version": VERSION}), ("/v1/models", self._models())):
            app.router.add_get(path, _constant(body))
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/stats", self._stats)
        app.router.add_post("/forget", self._forget)
        app.router.add_post("/release", self._release)
        return app

    def _handler(self, read: PromptReader, answer: Answerer) -> Callable[[web.Request], Any]:
        async def handle(http: web.Request) -> web.StreamResponse:
            self.requests += 1
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
            try:
                return await self._serve(http, read, answer)
            except Refusal as refusal:
                return _json(error_body(refusal.status, refusal.message, refusal.param), refusal.status)
            except ConnectionResetError:
                # The client has left.
                return web.Response()
            finally:
                self.in_flight -= 1

        return handle

    async def _serve(self, http: web.Request, read: PromptReader, answer: Answerer) -> web.StreamResponse:
        request = await self._request(http)
        prompt = read(request)
        if self._journal is not None:
            line = prompt[:200].replace("\n", "\\n") + "\n"
            os.write(self._journal, line.encode("utf-8", "backslashreplace"))
        found = directives(prompt)
        plan = self.faults.plan(prompt, found)
        if plan.delay_s:
            await asyncio.sleep(plan.delay_s)
        if plan.ending == "poison":
            os._exit(EXIT_ON_REQUEST)
        if plan.ending == "drop":
            return _hang_up(http)
        if plan.status != 200:
            return self._failure(plan.status)
        served = answer(request, found, plan.usage)
        if served.chunks is not None:
            return await _stream(http, served.chunks, plan, self.gate)
        return await _whole(http, served.body or {}, plan)

    async def _request(self, http: web.Request) -> dict[str, Any]:
        if self.options.api_key and http.headers.get("Authorization") != f"Bearer {self.options.api_key}":
            raise Refusal("Unauthorized", status=401)
        try:
            request = orjson.loads(await http.read())
        except orjson.JSONDecodeError as error:
            raise Refusal(f"The body is not JSON: {error}") from error
        if not isinstance(request, dict):
            raise Refusal("The body must be a JSON object.")
        model = request.get("model")
        if self.options.served_names and model not in self.options.served_names:
            raise Refusal(f"The model `{model}` does not exist.", param="model", status=404)
        return request

    def _chat(self, request: dict[str, Any], found: Directives, usage_kind: str) -> Served:
        cached = self.prefixes.cached_tokens(request["messages"])
        reply = chat.answer(request, found, max_model_len=self.options.max_model_len, cached_tokens=cached)
        if request.get("stream"):
            return Served(chunks=bodies.chunks(reply, request, usage_kind=usage_kind))
        return Served(body=bodies.whole(reply, request, usage_kind=usage_kind))

    def _completion(self, request: dict[str, Any], found: Directives, usage_kind: str) -> Served:
        limit = self.options.max_model_len
        if request.get("stream"):
            chunks = list(completions.chunks(request, found, max_model_len=limit, usage_kind=usage_kind))
            return Served(chunks=iter(chunks))
        return Served(body=completions.whole(request, found, max_model_len=limit, usage_kind=usage_kind))

    def _embedding(self, request: dict[str, Any], found: Directives, usage_kind: str) -> Served:
        options = self.options
        return Served(
            body=embeddings.whole(
                request,
                full_width=options.dimensions,
                max_model_len=options.max_model_len,
                usage_kind=usage_kind,
            )
        )

    def _decision(self, request: dict[str, Any], found: Directives, usage_kind: str) -> Served:
        return Served(body=decisions.whole(request, usage_kind=usage_kind))

    def _failure(self, status: int) -> web.Response:
        response = _json(error_body(status, f"The scripted engine was told to answer {status}."), status)
        if status in (429, 503):
            response.headers["retry-after-ms"] = str(self.options.retry_after_ms)
            response.headers["Retry-After"] = str(math.ceil(self.options.retry_after_ms / 1000))
        return response

    def _models(self) -> dict[str, Any]:
        names = self.options.served_names or ("scripted",)
        common = {"object": "model", "created": bodies.CREATED, "owned_by": "anex"}
        limit = self.options.max_model_len
        return {"object": "list", "data": [{"id": name, **common, "max_model_len": limit} for name in names]}

    async def _tokenize(self, http: web.Request) -> web.Response:
        request = await self._request(http)
        if "messages" in request:
            count = count_messages(chat.check(request))
        else:
            count = len(pieces(completions.prompt_of(request)))
        body = {"count": count, "max_model_len": self.options.max_model_len, "tokens": list(range(count))}
        return _json(body)

    async def _metrics(self, http: web.Request) -> web.Response:
        running = (
            f'vllm:num_requests_running{{engine="0"}} {self.in_flight}\nvllm:num_requests_waiting{{engine="0"}} 0\n'
        )
        return web.Response(text=running)

    async def _stats(self, http: web.Request) -> web.Response:
        counts = {"requests": self.requests, "in_flight": self.in_flight, "peak_in_flight": self.peak}
        return _json(counts | {"held": self.gate.waiting})

    async def _release(self, http: web.Request) -> web.Response:
        self.gate.open()
        return _json({})

    async def _forget(self, http: web.Request) -> web.Response:
        self.forget()
        return _json({})


def _chat_prompt(request: dict[str, Any]) -> str:
    return last_user_text(chat.check(request))


def _constant(body: dict[str, Any]) -> Callable[[web.Request], Any]:
    async def handle(http: web.Request) -> web.Response:
        return _json(body)

    return handle


def _dump(body: dict[str, Any]) -> bytes:
    """JSON as a server would send it: NaN is written as NaN."""
    prompt_tokens = (body.get("usage") or {}).get("prompt_tokens")
    if isinstance(prompt_tokens, float) and math.isnan(prompt_tokens):
        return json.dumps(body).encode()
    return orjson.dumps(body)


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=_dump(body), status=status, content_type="application/json")


def _hang_up(http: web.Request) -> web.Response:
    if http.transport is not None:
        http.transport.abort()
    return web.Response()


async def _whole(http: web.Request, body: dict[str, Any], plan: Plan) -> web.StreamResponse:
    if plan.ending == "whole":
        return _json(body)
    data = _dump(body)
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(data))})
    await response.prepare(http)
    await response.write(data[: len(data) // 2])
    return await _break_off(http, response, plan)


async def _stream(http: web.Request, chunks: Iterable[dict[str, Any]], plan: Plan, gate: Gate) -> web.StreamResponse:
    frames = [b"data: " + _dump(chunk) + b"\n\n" for chunk in chunks]
    if plan.ending != "whole":
        frames = frames[: len(frames) // 2]
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(http)
    for number, frame in enumerate(frames):
        if plan.is_held and number == len(frames) // 2:
            await gate.wait(http)
        await response.write(frame)
        if plan.pace_s:
            await asyncio.sleep(plan.pace_s)
    if plan.ending != "whole":
        return await _break_off(http, response, plan)
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def _break_off(http: web.Request, response: web.StreamResponse, plan: Plan) -> web.StreamResponse:
    """End a started answer too early: the process with it, or only its connection, after what was sent has left."""
    await asyncio.sleep(0)
    if plan.ending == "die":
        os._exit(EXIT_ON_REQUEST)
    if http.transport is not None:
        http.transport.close()
    return response
