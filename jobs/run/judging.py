"""What a model server's answer to a row comes to: an outcome with its count and its price."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from anex.core.usage import Usage
from billing import pricing
from inference.backends.answers import Answer
from inference.backends.usage import read_reasoning
from inference.requests import chat, decision_answers, embeddings, protocols
from inference.requests import rows as requests
from inference.requests.schema_process import answer_fault
from jobs.run.outcomes import Count, Outcome, answered, refused
from jobs.sizing import Length

# Answers are checked against schemas one at a time; a slow one must not take the threads of everything else.
_checking = ThreadPoolExecutor(1, thread_name_prefix="schemas")


async def judge(
    row: int,
    request: requests.Row,
    answer: Answer,
    usage: Usage,
    *,
    model_id: str,
    card: pricing.PriceCard | None,
    length: Length | None = None,
) -> Outcome:
    """The outcome of a row that was answered; it costs what the card says, nothing while the job has none.

    Its answer names the model as the job does, whatever the server calls it.
    """
    cost = pricing.row_cost_nano(card, usage) if card else 0
    count: Count = "success"
    reasoning: int | None = 0
    body, error = answer.body | {"model": model_id}, None
    if isinstance(request, requests.EmbeddingRow):
        body = embeddings.cut(request, body)
    elif isinstance(request, requests.DecisionRow):
        body = decision_answers.complete(request, body, usage=usage)
    elif isinstance(request, requests.ChatRow):
        reasoning = _reasoning(answer.body, usage)
        if request.own:
            body = chat.as_realtime(chat.without_reasoning(body) if request.own.reasoning.excluded else body)
        if answer.finish_reason == "length":
            count = "truncated"
        elif request.response_format and (error := await _format_error(request.response_format, body)):
            count = "format_error"
        body = protocols.shape(request, body)
    return answered(
        row,
        request.custom_id,
        body,
        count=count,
        usage=usage,
        cost_nano=cost,
        error=error,
        length=length,
        reasoning=reasoning,
    )


def refuse(row: int, request: requests.Row, answer: Answer) -> Outcome:
    """The outcome of a row that a server refused with 4xx: free.

    A refused decision question counts among the rows refused because of what they ask (003, format_error_rows), and
    its line carries status 400 (002, limits). Any other refusal is not about the question.
    """
    message = _upstream_message(answer.body) or f"The model server refused the row ({answer.status})."
    if isinstance(request, requests.DecisionRow) and answer.status in (400, 422):
        error = {"message": message, "type": "invalid_request_error"}
        response = {"status_code": 400, "body": {"error": error}}
        return refused(
            row, request.custom_id, message, "invalid_request_error", count="format_error", response=response
        )
    return refused(row, request.custom_id, message, "invalid_request_error")


def refuse_media(row: int, request: requests.Row, error: requests.RowError) -> Outcome:
    """The outcome of a row whose media cannot be served: free.

    What its own bytes are to blame for counts among the rows refused because of their input (003, format_error_rows).
    """
    unfit = error.code in ("media_unreadable", "media_length_mismatch")
    kind = error.code if unfit or error.code == "media_unreachable" else "invalid_request_error"
    return refused(row, request.custom_id, error.message, kind, count="format_error" if unfit else "error")


def text_of(body: dict[str, Any]) -> str:
    """The text of a chat answer."""
    return _member(body, "content")


def thinking_of(body: dict[str, Any]) -> str:
    """The thinking before a chat answer, under the name its server gives it."""
    return _member(body, "reasoning_content") or _member(body, "reasoning")


def _reasoning(body: dict[str, Any], usage: Usage) -> int | None:
    told = read_reasoning(body)
    if told:
        return min(told, usage.output_tokens)
    return None if thinking_of(body) else 0


def _member(body: dict[str, Any], name: str) -> str:
    try:
        return str(body["choices"][0]["message"].get(name) or "")
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def _upstream_message(body: dict[str, Any]) -> str:
    error = body.get("error", body)
    message = error.get("message") if isinstance(error, dict) else error
    return str(message)[:1000] if message else ""


async def _format_error(response_format: dict[str, Any], body: dict[str, Any]) -> str | None:
    """What is wrong with an answer that was to be JSON; None when it keeps the format."""
    kind, text = response_format.get("type"), text_of(body).encode()
    if kind == "json_schema":
        schema = orjson.dumps(response_format["json_schema"]["schema"])
        return await asyncio.get_running_loop().run_in_executor(_checking, answer_fault, schema, text)
    if kind != "json_object":
        return None
    try:
        return None if isinstance(orjson.loads(text), dict) else "The answer is not a JSON object."
    except orjson.JSONDecodeError:
        return "The answer is not valid JSON."
