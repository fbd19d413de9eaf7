"""The HTTP side of MiniLM: embeddings as OpenAI has them, decisions as System One does."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from inference import catalogue
from inference.catalogue.schema import Model
from inference.engines.minilm import similarity
from inference.engines.minilm.encoder import Encoder
from inference.engines.refusals import Refusal, error_body
from inference.refusals import RowError
from inference.requests import decision_answers, decisions

EMBED_ID = "minilm-l6-v2"
DECIDE_ID = "minilm-decide"
_BODY_BYTES = 4 * 1024 * 1024
# As many as a request may bring on any surface.
_MOST_INPUTS = 2048
_SPECIAL_TOKENS = 2

Answerer = Callable[[Mapping[str, Any]], dict[str, Any]]


class App:
    """Requests wait for each other: one thread reads texts, which is what keeps the digits of an answer the same."""

    def __init__(self, *, cache: Path, threads: int, api_key: str) -> None:
        """Loads the weights (see `Encoder`). Raises Unavailable."""
        self._authorization = f"Bearer {api_key}".encode()
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        self._embedding, self._decision = _entry(EMBED_ID), _entry(DECIDE_ID)
        self._encoder = Encoder(self._embedding, cache, threads=threads)

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=_BODY_BYTES)
        app.router.add_post("/v1/embeddings", self._handler(EMBED_ID, self._embed))
        app.router.add_post("/v1/systemone", self._handler(DECIDE_ID, self._decide))
        app.router.add_get("/health", _health)
        return app

    def _handler(self, served: str, answer: Answerer) -> Callable[[web.Request], Any]:
        async def handle(http: web.Request) -> web.Response:
            try:
                self._check_key(http)
                request = _object(await http.read())
                if request.get("model") != served:
                    raise Refusal(f"The model `{request.get('model')}` does not exist.", param="model", status=404)
                made = await asyncio.get_running_loop().run_in_executor(self._reading, answer, request)
            except Refusal as refusal:
                return _json(error_body(refusal.status, refusal.message, refusal.param), refusal.status)
            return _json(made, 200)

        return handle

    def _check_key(self, http: web.Request) -> None:
        told = http.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(told, self._authorization):
            raise Refusal("Unauthorized", status=401)

    def _embed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        given = request.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not 0 < len(texts) <= _MOST_INPUTS:
            raise Refusal(f"input must be a text or a list of at most {_MOST_INPUTS}.", param="input")
        if request.get("encoding_format", "float") != "float":
            raise Refusal("encoding_format must be float.", param="encoding_format")
        read = [self._tokens(text) for text in texts]
        vectors = [self._encoder.vector(ids).tolist() for ids in read]
        data = [{"object": "embedding", "index": index, "embedding": made} for index, made in enumerate(vectors)]
        count = sum(len(ids) + _SPECIAL_TOKENS for ids in read)
        usage = {"prompt_tokens": count, "total_tokens": count}
        return {"object": "list", "model": EMBED_ID, "data": data, "usage": usage}

    def _tokens(self, text: object) -> tuple[int, ...]:
        if not isinstance(text, str) or not text:
            raise Refusal("input must be a text that is not empty.", param="input")
        ids = self._encoder.ids(text)
        if (count := len(ids) + _SPECIAL_TOKENS) > (most := self._embedding.context_tokens):
            raise Refusal(
                f"This model's maximum context length is {most} tokens. However, your prompt contains {count} input "
                "tokens. Please reduce the length of the input.",
                param="input",
            )
        return ids

    def _decide(self, request: Mapping[str, Any]) -> dict[str, Any]:
        limits = self._decision.decisions
        assert limits is not None
        try:
            row = decisions.read("", dict(request), model=self._decision)
        except RowError as error:
            raise Refusal(error.message, param=error.param) from error
        made = similarity.decide(row, self._encoder, limits)
        return {"model": DECIDE_ID, **made, "answers": decision_answers.read(row, made)}


def _entry(model_id: str) -> Model:
    model = catalogue.get(model_id)
    assert model is not None
    return model


async def _health(_http: web.Request) -> web.Response:
    return _json({}, 200)


def _object(body: bytes) -> dict[str, Any]:
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(f"The body is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise Refusal("The body must be a JSON object.")
    return request


def _json(body: Mapping[str, Any], status: int) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")
