"""Sends one row to a model server and judges the answer; waits and tries again where that can help."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import orjson
from django.db import DatabaseError

from anex.core.errors import Unavailable
from anex.core.usage import Usage
from billing import pricing
from inference import tokens
from inference.backends import retries
from inference.backends.answers import Answer
from inference.backends.client import Client
from inference.backends.faults import ServerFailed, ServerLost, UpstreamError
from inference.backends.registry import Server
from inference.requests import rows as requests
from inference.requests.schema_process import answer_fault
from jobs.run.context import Context
from jobs.run.outcomes import Count, Outcome, answered, refused
from jobs.run.threads import Threads
from jobs.run.window import Window

log = logging.getLogger(__name__)

ROW_SECONDS = 600.0
UNUSABLE = "The answer to this row could not be processed."
# Answers are checked against schemas one at a time; a slow one must not take the threads of everything else.
_checking = ThreadPoolExecutor(1, thread_name_prefix="schemas")


class Sender:
    """Sends rows of one job within a window; every row ends as an outcome, or as ServerLost."""

    def __init__(self, client: Client, window: Window, context: Context, threads: Threads) -> None:
        self.window = window
        self._client = client
        self._threads = threads
        self._context = context
        self._clamped = False

    async def send(
        self, row: int, request: requests.Row, *, size_bytes: int, place: Server, once: bool = False
    ) -> Outcome:
        """The outcome of a row; `place` is a place in the window, given back here.

        Raises ServerLost when no server took it; with `once`, at the first loss.
        """
        attempt, in_hand = 0, False
        while True:
            attempt += 1
            try:
                answer = await self._ask(request, place)
                self.window.proved(place)
                return await self._outcome(row, request, answer, place)
            except UpstreamError as error:
                wait = retries.wait_before_retry(error, attempt=attempt)
                if isinstance(error, ServerLost):
                    self.window.lost(place)
                    in_hand = in_hand or error.sent
                    if once or wait is None:
                        raise ServerLost(str(error), sent=in_hand) from error
                if wait is None:
                    return refused(row, request.custom_id, str(error), "upstream_error")
            finally:
                await self.window.release(place, size_bytes)
            await asyncio.sleep(wait)
            place = await self.window.acquire(size_bytes)

    async def _ask(self, request: requests.Row, server: Server) -> Answer:
        context = self._context
        body = requests.upstream_body(
            request,
            served_name=server.served_name,
            model=context.model,
            options=context.options,
            max_tokens=context.output_cap,
        )
        answer = await self._client.complete(
            server,
            requests.url_path,
            body,
            timeout_s=ROW_SECONDS,
            input_bound=context.model.context_tokens,
            output_bound=context.output_cap,
        )
        if answer.status == 200 and not _has_message(answer.body):
            raise ServerFailed("The model server answered 200 without a message.")
        return answer

    async def _outcome(self, row: int, request: requests.Row, answer: Answer, server: Server) -> Outcome:
        """Whatever a server made up, it costs one row: a job must not stop over it."""
        try:
            if answer.status != 200:
                return self._refuse(row, request, answer)
            self._note_clamp(answer, server)
            usage = answer.usage
            if usage is None:
                usage = await self._threads.call(self._count, request, answer.body, server)
            return await self._judge(row, request, answer, usage)
        except (Unavailable, DatabaseError):
            raise
        except Exception:
            log.exception("row %s of a chunk of job %s: the answer was unusable", row, self._context.job_id)
            return refused(row, request.custom_id, UNUSABLE, "internal_error")

    def _note_clamp(self, answer: Answer, server: Server) -> None:
        """Log the first impossible report of these rows; a server that makes one makes many."""
        if answer.clamped and not self._clamped:
            self._clamped = True
            job, model = self._context.job_id, server.model_id
            log.warning("job %s: a server of %s reported impossible usage, which was clamped", job, model)

    def _refuse(self, row: int, request: requests.Row, answer: Answer) -> Outcome:
        message = _upstream_message(answer.body) or f"The model server refused the row ({answer.status})."
        return refused(row, request.custom_id, message, "invalid_request_error")

    async def _judge(self, row: int, request: requests.Row, answer: Answer, usage: Usage) -> Outcome:
        card = self._context.card
        cost = pricing.row_cost_nano(card, usage) if card else 0
        count: Count = "success"
        error = None
        if answer.finish_reason == "length":
            count = "truncated"
        elif request.response_format and (error := await _format_error(request.response_format, answer.body)):
            count = "format_error"
        return answered(row, request.custom_id, answer.body, count=count, usage=usage, cost_nano=cost, error=error)

    def _count(self, request: requests.Row, body: dict[str, Any], server: Server) -> Usage:
        """Tokens by our own count, for a server that reported none: an answer is never free by accident."""
        texts = [_content(body), ""]
        alone = [msgspec.structs.replace(request, messages=[{"role": "user", "content": text}]) for text in texts]
        read, written, nothing = tokens.count_rows(self._context.model, [request, *alone], counting_server=server)
        return Usage(input_tokens=read, output_tokens=min(written - nothing, self._context.output_cap))


def _has_message(body: dict[str, Any]) -> bool:
    try:
        return isinstance(body["choices"][0]["message"], dict)
    except (KeyError, IndexError, TypeError):
        return False


def _content(body: dict[str, Any]) -> str:
    try:
        return str(body["choices"][0]["message"]["content"] or "")
    except (KeyError, IndexError, TypeError):
        return ""


def _upstream_message(body: dict[str, Any]) -> str:
    error = body.get("error", body)
    message = error.get("message") if isinstance(error, dict) else error
    return str(message)[:1000] if message else ""


async def _format_error(response_format: dict[str, Any], body: dict[str, Any]) -> str | None:
    """What is wrong with an answer that was to be JSON; None when it keeps the format."""
    kind, text = response_format.get("type"), _content(body).encode()
    if kind == "json_schema":
        schema = orjson.dumps(response_format["json_schema"]["schema"])
        return await asyncio.get_running_loop().run_in_executor(_checking, answer_fault, schema, text)
    if kind != "json_object":
        return None
    try:
        return None if isinstance(orjson.loads(text), dict) else "The answer is not a JSON object."
    except orjson.JSONDecodeError:
        return "The answer is not valid JSON."
