"""Counts tokens by asking the model server itself: vLLM's `/tokenize` applies the model's own chat template."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import aiohttp
import orjson

from anex.core.errors import Unavailable
from inference.counting.template import refused
from inference.refusals import RowError
from inference.requests.decisions import question_texts
from inference.requests.embeddings import as_messages
from inference.requests.rows import ChatRow, DecisionRow, EmbeddingRow, Row

_IN_FLIGHT = 16
_TIMEOUT = aiohttp.ClientTimeout(total=60, connect=5)


class CountingServer(Protocol):
    """What counting needs of a model server; `base_url` ends in `/v1`."""

    @property
    def base_url(self) -> str: ...
    @property
    def served_name(self) -> str: ...
    @property
    def api_key(self) -> str: ...


def count(server: CountingServer, rows: Sequence[Row], *, model_id: str) -> list[int | RowError]:
    """Tokens of each row, or what the server has against it; at most 16 questions at a time.

    Synchronous: call it from a thread without an event loop. Raises `Unavailable` where the server does not answer
    sensibly.
    """
    return asyncio.run(_count_all(server, rows, model_id))


async def _count_all(server: CountingServer, rows: Sequence[Row], model_id: str) -> list[int | RowError]:
    headers = {"Authorization": f"Bearer {server.api_key}"} if server.api_key else {}
    url = server.base_url.rstrip("/").removesuffix("/v1") + "/tokenize"
    gate = asyncio.Semaphore(_IN_FLIGHT)
    async with aiohttp.ClientSession(timeout=_TIMEOUT, headers=headers) as session:

        async def one(question: dict[str, Any]) -> int:
            body = orjson.dumps({"model": server.served_name} | question)
            async with gate:
                status, answer = await _ask(session, url, body, model_id)
            if status in (400, 422):
                raise refused(model_id, _reason(answer))
            return _checked(status, answer, model_id)

        async def count_one(row: Row) -> int | RowError:
            try:
                counts = [await one(question) for question in _questions(row)]
            except RowError as refusal:
                return refusal
            if isinstance(row, DecisionRow):
                text, *questions = counts
                return text * len(questions) + sum(questions)
            return sum(counts)

        tasks = [asyncio.create_task(count_one(row)) for row in rows]
        try:
            return await asyncio.gather(*tasks)
        finally:
            # After the first failure the others are not waited for, so they must not outlive the session.
            for task in tasks:
                task.cancel()


def _questions(row: Row) -> list[dict[str, Any]]:
    """What the server is asked to tokenize: the chat, the text, or a decision's text and then each question.

    An embedding that carries media is given as a chat too; here without it.
    """
    if isinstance(row, ChatRow):
        kwargs = row.chat_template_kwargs
        return [{"messages": row.messages, "add_generation_prompt": True, "chat_template_kwargs": kwargs}]
    if isinstance(row, EmbeddingRow):
        if isinstance(row.input, str):
            return [{"prompt": row.input}]
        return [{"messages": as_messages(row.input), "add_generation_prompt": False}]
    texts = [row.text, *question_texts(row)]
    return [{"prompt": text, "add_special_tokens": False} for text in texts]


async def _ask(session: aiohttp.ClientSession, url: str, body: bytes, model_id: str) -> tuple[int, Any]:
    try:
        async with session.post(
            url, data=body, headers={"Content-Type": "application/json"}, allow_redirects=False
        ) as response:
            return response.status, orjson.loads(await response.read())
    except (aiohttp.ClientError, TimeoutError, orjson.JSONDecodeError) as error:
        raise _unavailable(model_id) from error


def _checked(status: int, answer: Any, model_id: str) -> int:
    count = answer.get("count") if isinstance(answer, dict) else None
    if status != 200 or type(count) is not int or count < 0:
        raise _unavailable(model_id)
    return count


def _reason(answer: Any) -> str:
    """The server's own words, wherever its version puts them."""
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else "it gives no reason"


def _unavailable(model_id: str) -> Unavailable:
    return Unavailable(f"The server of model {model_id} could not count tokens; try again.", retry_after=5)
