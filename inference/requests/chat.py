"""A chat row: its settings, and what an OpenAI-compatible server is sent for it."""

from typing import Any, Final

import msgspec
import orjson

from anex.core.errors import InvalidRequest
from inference.catalogue.schema import Model
from inference.media.parts import MediaPart
from inference.refusals import RowError, row_error
from inference.requests.content import frame_rate, upstream_messages
from inference.requests.messages import read_messages
from inference.requests.options import RowOptions
from inference.requests.own_settings import OwnSettings, read_settings
from inference.requests.response_format import check_response_format, constrains, upstream_format
from inference.requests.sampling import read_number
from inference.requests.thinking import check_thinking, fit_budget, may_think

_ANSWER: Final = ("id", "object", "created", "model", "usage")


class ChatRow(msgspec.Struct, frozen=True):
    """A checked row. Settings are the effective ones: the row's own, else the job's, else None (the model's).

    `media` holds the pictures and clips whose places are marked in `messages`, in the same order. `url` names the
    protocol of its answer, which repeats the `echo` of the request.
    """

    custom_id: str
    messages: list[dict[str, Any]]
    chat_template_kwargs: dict[str, Any]
    response_format: dict[str, Any] | None
    temperature: float | None
    own: OwnSettings | None = None
    media: tuple[MediaPart, ...] = ()
    url: str = "/v1/chat/completions"
    echo: Any = None


def read(custom_id: str, body: dict[str, Any], *, model: Model, options: RowOptions) -> ChatRow:
    """The row a body holds, or a `RowError` (reference 001, the input file).

    Only messages, chat_template_kwargs, response_format and temperature are used, and what a row of its profile keeps
    for itself; `stream: true` is refused, other fields are ignored.
    """
    if body.get("stream"):
        raise row_error("stream_not_supported", "body.stream")
    profile = options.profile
    own = read_settings(body, model=model, profile=profile) if profile.keeps_own_settings else None
    messages, media = read_messages(body.get("messages"), model=model)
    return ChatRow(
        custom_id,
        messages,
        check_thinking(
            body.get("chat_template_kwargs"), model=model, options=options, own=own.reasoning if own else None
        ),
        _response_format(body.get("response_format")) or options.response_format,
        _temperature(body.get("temperature"), options.temperature),
        own,
        media,
    )


def write(row: ChatRow, *, served_name: str, model: Model, options: RowOptions, max_tokens: int) -> bytes:
    """The JSON for an OpenAI-compatible server: same row, same bytes. `max_tokens` is the job's output cap."""
    max_tokens = output_cap(row, max_tokens)
    messages = upstream_messages(row.messages, row.media) if row.media else row.messages
    body: dict[str, Any] = {"model": served_name, "messages": messages, "max_tokens": max_tokens}
    body |= frame_rate(row.media, model, fps=options.video_fps)
    if row.own:
        body |= row.own.sampling
    if row.temperature is not None:
        body["temperature"] = row.temperature
    if row.chat_template_kwargs:
        body["chat_template_kwargs"] = row.chat_template_kwargs
    budget = _budget(row, model, options, max_tokens)
    if budget is not None:
        body["thinking_token_budget"] = budget
    if row.response_format is not None and constrains(row.response_format):
        body["response_format"] = upstream_format(row.response_format)
    return orjson.dumps(body)


def output_cap(row: ChatRow, job_cap: int) -> int:
    """The most output tokens of the row: its own cap where it keeps one, within the job's."""
    return min(row.own.max_tokens, job_cap) if row.own else job_cap


def has_answer(body: dict[str, Any]) -> bool:
    """Whether a server's answer carries a message."""
    try:
        return isinstance(body["choices"][0]["message"], dict)
    except (KeyError, IndexError, TypeError):
        return False


def thinks(row: ChatRow, model: Model) -> bool:
    """Whether a row is to think, or may: by its settings, else by the model's default where that is known."""
    return may_think(row.chat_template_kwargs, model)


def without_reasoning(body: dict[str, Any]) -> dict[str, Any]:
    """A server's answer, its thinking left out."""
    choice = body["choices"][0]
    message = {name: value for name, value in choice["message"].items() if name != "reasoning_content"}
    return body | {"choices": [choice | {"message": message}, *body["choices"][1:]]}


def as_realtime(body: dict[str, Any]) -> dict[str, Any]:
    """A server's answer in the shape of a realtime one (000, batch results): its thinking, if any, beside its text."""
    choice = body["choices"][0]
    said = choice["message"]
    message: dict[str, Any] = {"role": "assistant", "content": said.get("content") or "", "refusal": None}
    if thought := said.get("reasoning_content"):
        message["reasoning_content"] = thought
    finish = choice.get("finish_reason")
    shaped = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {name: body[name] for name in _ANSWER if name in body} | {"choices": [shaped]}


def _budget(row: ChatRow, model: Model, options: RowOptions, max_tokens: int) -> int | None:
    """The cap on thinking, lowered so that the answer keeps its room; none where thinking is off or form is forced."""
    budget = row.own.reasoning.tokens if row.own else options.reasoning_budget or options.estimated_budget
    if not model.takes_budget or constrains(row.response_format) or not thinks(row, model):
        return None
    return fit_budget(budget, max_tokens)


def _response_format(value: object) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        check_response_format(value, param="body.response_format")
    except InvalidRequest as error:
        raise RowError(error.code, error.message, error.param) from None
    assert isinstance(value, dict)
    return value


def _temperature(value: object, default: float | None) -> float | None:
    return default if value is None else read_number(value, "temperature")
