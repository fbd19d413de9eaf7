"""A chat row: its settings, and what an OpenAI-compatible server is sent for it."""

from typing import Any

import msgspec
import orjson

from anex.core.errors import InvalidRequest
from inference.catalogue.schema import Model
from inference.media.parts import MediaPart
from inference.refusals import RowError, row_error
from inference.requests.content import upstream_messages
from inference.requests.messages import read_messages
from inference.requests.options import ANSWER_TOKENS, MAX_TEMPERATURE, RowOptions
from inference.requests.response_format import check_response_format, constrains, upstream_format
from inference.requests.thinking import check_thinking


class ChatRow(msgspec.Struct, frozen=True):
    """A checked row. Settings are the effective ones: the row's own, else the job's, else None (the model's).

    `media` holds the pictures and clips whose places are marked in `messages`, in the same order.
    """

    custom_id: str
    messages: list[dict[str, Any]]
    chat_template_kwargs: dict[str, Any]
    response_format: dict[str, Any] | None
    temperature: float | None
    media: tuple[MediaPart, ...] = ()


def read(custom_id: str, body: dict[str, Any], *, model: Model, options: RowOptions) -> ChatRow:
    """The row a body holds, or a `RowError` (reference 001, the input file).

    Only messages, chat_template_kwargs, response_format and temperature are used; `stream: true` is refused, other
    fields are ignored.
    """
    if body.get("stream"):
        raise row_error("stream_not_supported", "body.stream")
    messages, media = read_messages(body.get("messages"), model=model)
    return ChatRow(
        custom_id,
        messages,
        check_thinking(body.get("chat_template_kwargs"), model=model, options=options),
        _response_format(body.get("response_format")) or options.response_format,
        _temperature(body.get("temperature"), options.temperature),
        media,
    )


def write(row: ChatRow, *, served_name: str, model: Model, options: RowOptions, max_tokens: int) -> bytes:
    """The JSON for an OpenAI-compatible server: same row, same bytes. `max_tokens` is the row's output cap."""
    messages = upstream_messages(row.messages, row.media) if row.media else row.messages
    body: dict[str, Any] = {"model": served_name, "messages": messages, "max_tokens": max_tokens}
    body |= _sampling(row, model, options)
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


def has_answer(body: dict[str, Any]) -> bool:
    """Whether a server's answer carries a message."""
    try:
        return isinstance(body["choices"][0]["message"], dict)
    except (KeyError, IndexError, TypeError):
        return False


def _sampling(row: ChatRow, model: Model, options: RowOptions) -> dict[str, Any]:
    """How vLLM is told another sampling rate than the model's own.

    Its loader hands on every frame, and the model's processor samples them; else the loader would take 32 of them
    whatever the clip.
    """
    fps, video = options.video_fps, model.media.video if model.media else None
    if fps is None or video is None or fps == video.default_fps or all(part.modality != "video" for part in row.media):
        return {}
    return {
        "media_io_kwargs": {"video": {"num_frames": -1}},
        "mm_processor_kwargs": {"fps": fps, "do_sample_frames": True},
    }


def _budget(row: ChatRow, model: Model, options: RowOptions, max_tokens: int) -> int | None:
    """The cap on thinking, lowered so that the answer keeps its room; none where thinking is off or form is forced."""
    if not options.reasoning_budget or not model.takes_budget or constrains(row.response_format):
        return None
    if row.chat_template_kwargs.get("enable_thinking") is False:
        return None
    return max(1, min(options.reasoning_budget, max_tokens - ANSWER_TOKENS))


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
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TEMPERATURE:
        raise row_error("out_of_range", "body.temperature", low=0, high=MAX_TEMPERATURE)
    return value
