"""What a model server is sent for a chat request, and the most such a request can consume. Pure."""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from anex.core.usage import Usage
from inference.catalogue.schema import Model
from inference.media.lengths import Measured
from inference.media.parts import MediaPart
from inference.media.rates import context_tokens, longest_ms
from inference.requests.chat_request import ChatRequest
from inference.requests.content import frame_rate, upstream_messages
from inference.requests.thinking import fit_budget
from inference.requests.tools import in_plain_text, keeps_tools, upstream_tools

# An answer that is not streamed is put together here: so a client that leaves is noticed, and pays for what there was.
_STREAMING: Final = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
# llama.cpp takes 0 for no log probabilities at all; further ones than were asked for are cut from the answer.
_LEAST_TOP_LOGPROBS: Final = 1
# What a chat template may write around each message and once per prompt, in tokens, on top of the request's own bytes.
_PER_MESSAGE: Final = 32
_PER_PROMPT: Final = 512
# Templates may print definitions of tools indented, or twice.
_TOOLS_TIMES: Final = 2


def write(request: ChatRequest, *, served_name: str, model: Model) -> bytes:
    """The JSON for a server that speaks vLLM's protocol: same request, same bytes. Media must have been `fetched`."""
    messages = request.messages
    if keeps_tools(request.use, messages, model):
        messages = in_plain_text(messages)
    if request.media:
        messages = upstream_messages(messages, request.media)
    body: dict[str, Any] = {"model": served_name, "messages": messages, **_STREAMING, **request.sampling}
    if request.media:
        body |= frame_rate(request.media, model)
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.top_logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": max(request.top_logprobs, _LEAST_TOP_LOGPROBS)}
    if request.template_settings:
        body["chat_template_kwargs"] = request.template_settings
    budget = fit_budget(request.thinking_tokens, request.max_tokens)
    if budget is not None:
        body["thinking_token_budget"] = budget
    if request.response_format is not None:
        body["response_format"] = request.response_format
    if request.use.tools:
        body |= upstream_tools(request.use, request.messages, model)
    return orjson.dumps(body)


def most_usage(request: ChatRequest, model: Model) -> Usage:
    """The most a request can consume, for the hold on its organization's money: nothing is tokenized.

    A token of text is at least a byte of it. A picture or clip counts as the model's largest, and no request reads more
    than its context; without a cap an answer may be the model's longest.
    """
    context = context_tokens(model, [part.modality for part in request.media])
    written = len(orjson.dumps(request.messages)) + _PER_MESSAGE * len(request.messages) + _PER_PROMPT
    if request.use.tools:
        written += _TOOLS_TIMES * len(orjson.dumps(request.use.tools))
    text = Usage(
        input_tokens=context if request.media else min(context, written),
        output_tokens=min(context, request.max_tokens or model.max_output_tokens or context),
    )
    return text + most_media(request.media, model) if request.media else text


def most_media(media: Sequence[MediaPart], model: Model) -> Usage:
    """Items, and the longest clips the model takes: what they become in tokens is part of the context."""
    lengths = [
        (part.modality, longest_ms(Measured(modality=part.modality), model=model))
        for part in media
        if part.modality != "image"
    ]
    return Usage(
        images=len(media) - len(lengths),
        clips=len(lengths),
        video_ms=sum(length for kind, length in lengths if kind == "video"),
        audio_ms=sum(length for kind, length in lengths if kind == "audio"),
    )
