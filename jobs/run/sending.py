"""Sends one row to a model server and judges the answer; waits and tries again where that can help."""

import asyncio
import logging
from typing import Any

import jsonschema_rs
import msgspec
import orjson

from anex.core.usage import Usage
from billing import pricing
from inference import tokens
from inference.backends import retries
from inference.backends.answers import Answer
from inference.backends.client import Client
from inference.backends.faults import ServerLost, UpstreamError
from inference.backends.registry import Server
from inference.requests import rows as requests
from jobs.run.context import Context
from jobs.run.outcomes import Count, Outcome, answered, refused
from jobs.run.threads import Threads
from jobs.run.window import Window

log = logging.getLogger(__name__)

ROW_SECONDS = 600.0


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
                if answer.status != 200:
                    return self._refuse(row, request, answer)
                self._note_clamp(answer, place)
                usage = answer.usage
                if usage is None:
                    usage = await self._threads.call(self._count, request, answer.body, place)
                return self._judge(row, request, answer, usage)
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
        return await self._client.complete(
            server,
            requests.url_path,
            body,
            timeout_s=ROW_SECONDS,
            input_bound=context.model.context_tokens,
            output_bound=context.output_cap,
        )

    def _note_clamp(self, answer: Answer, server: Server) -> None:
        """Log the first impossible report of these rows; a server that makes one makes many."""
        if answer.clamped and not self._clamped:
            self._clamped = True
            job, model = self._context.job_id, server.model_id
            log.warning("job %s: a server of %s reported impossible usage, which was clamped", job, model)

    def _refuse(self, row: int, request: requests.Row, answer: Answer) -> Outcome:
        message = _upstream_message(answer.body) or f"The model server refused the row ({answer.status})."
        return refused(row, request.custom_id, message, "invalid_request_error")

    def _judge(self, row: int, request: requests.Row, answer: Answer, usage: Usage) -> Outcome:
        card = self._context.card
        cost = pricing.row_cost_nano(card, usage) if card else 0
        count: Count = "success"
        error = None
        if answer.finish_reason == "length":
            count = "truncated"
        elif request.response_format and (error := _format_error(request.response_format, answer.body)):
            count = "format_error"
        return answered(row, request.custom_id, answer.body, count=count, usage=usage, cost_nano=cost, error=error)

    def _count(self, request: requests.Row, body: dict[str, Any], server: Server) -> Usage:
        """Tokens by our own count, for a server that reported none: an answer is never free by accident."""
        texts = [_content(body), ""]
        alone = [msgspec.structs.replace(request, messages=[{"role": "user", "content": text}]) for text in texts]
        read, written, nothing = tokens.count_rows(self._context.model, [request, *alone], counting_server=server)
        return Usage(input_tokens=read, output_tokens=min(written - nothing, self._context.output_cap))


def _content(body: dict[str, Any]) -> str:
    try:
        return str(body["choices"][0]["message"]["content"] or "")
    except (KeyError, IndexError, TypeError):
        return ""


def _upstream_message(body: dict[str, Any]) -> str:
    error = body.get("error", body)
    message = error.get("message") if isinstance(error, dict) else error
    return str(message)[:1000] if message else ""


def _format_error(response_format: dict[str, Any], body: dict[str, Any]) -> str | None:
    """What is wrong with an answer that was to be JSON; None when it keeps the format."""
    kind = response_format.get("type")
    if kind not in ("json_object", "json_schema"):
        return None
    try:
        value = orjson.loads(_content(body))
    except orjson.JSONDecodeError:
        return "The answer is not valid JSON."
    if kind == "json_object":
        return None if isinstance(value, dict) else "The answer is not a JSON object."
    schema = response_format.get("json_schema", {}).get("schema", {})
    try:
        jsonschema_rs.validate(schema, value)
    except jsonschema_rs.ValidationError as error:
        return f"The answer does not match the schema: {error.message}"[:1000]
    return None
