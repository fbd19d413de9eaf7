"""Chat answers as bodies: one object, or the chunks of a stream that add up to it. Pure."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from inference.counting.words import TOKENS_PER_MESSAGE, count_words, text_of
from inference.engines.scripted.chat import Reply, logprobs
from inference.engines.scripted.prose import digest
from inference.engines.scripted.words import pieces

CREATED = 1_767_225_600
REMEMBERED_PREFIXES = 4096


class Prefixes:
    """The system prompts seen so far: what a prefix cache would hold."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def cached_tokens(self, messages: list[dict[str, Any]]) -> int:
        """Tokens of the system message when it was seen before; remembers it."""
        if messages[0].get("role") != "system":
            return 0
        text = text_of(messages[0].get("content"))
        key = digest(text, size=16)
        known = key in self._seen
        self._seen[key] = None
        self._seen.move_to_end(key)
        if len(self._seen) > REMEMBERED_PREFIXES:
            self._seen.popitem(last=False)
        return TOKENS_PER_MESSAGE + count_words(text) if known else 0


def usage(
    kind: str, *, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0, reasoning_tokens: int = 0
) -> dict[str, Any]:
    """The members that report usage, true or as wrong as `kind` says: `{}` when it is to be absent."""
    true: dict[str, Any] = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }
    if reasoning_tokens:
        true["completion_tokens_details"] = {"reasoning_tokens": reasoning_tokens}
    false: dict[str, Any] = {
        "zero": (0, 0, 0),
        "negative": (-5, -7, -12),
        "absurd": (1e308, 10**15, 1e308),
        "nan": (float("nan"), float("nan"), float("nan")),
        "text": ("many", "few", "some"),
    }
    if kind == "absent":
        return {}
    if kind == "null":
        return {"usage": None}
    if kind in false:
        true |= dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), false[kind], strict=True))
    return {"usage": true}


def whole(reply: Reply, request: Mapping[str, Any], *, usage_kind: str) -> dict[str, Any]:
    """The body of a non-streamed answer."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [call.as_dict() for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason, "logprobs": None}
    if request.get("logprobs") and reply.text is not None:
        choice["logprobs"] = {"content": logprobs(reply.text, request.get("top_logprobs") or 0)}
    return {
        **_head(reply, request, "chat.completion"),
        "choices": [choice],
        **_usage_at(reply, reply.completion_tokens, usage_kind),
    }


def chunks(reply: Reply, request: Mapping[str, Any], *, usage_kind: str) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed answer: the role once, the pieces, the reason; usage as `stream_options` asks."""
    options = request.get("stream_options") or {}
    head = _head(reply, request, "chat.completion.chunk")
    sent = 0
    for delta, tokens, probabilities in _deltas(reply, request):
        sent += tokens
        choice = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": probabilities}
        yield {**head, "choices": [choice], **_so_far(reply, sent, options, usage_kind)}
    last = {"index": 0, "delta": {}, "finish_reason": reply.finish_reason, "logprobs": None}
    yield {**head, "choices": [last], **_so_far(reply, reply.completion_tokens, options, usage_kind)}
    if options.get("include_usage"):
        yield {**head, "choices": [], **_usage_at(reply, reply.completion_tokens, usage_kind)}


def _deltas(reply: Reply, request: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], int, dict[str, Any] | None]]:
    yield {"role": "assistant", "content": ""}, 0, None
    for piece in pieces(reply.reasoning):
        yield {"reasoning_content": piece}, 1, None
    for piece in pieces(reply.text or ""):
        entries = logprobs(piece, request.get("top_logprobs") or 0) if request.get("logprobs") else None
        yield {"content": piece}, 1, {"content": entries} if entries else None
    for index, call in enumerate(reply.calls):
        start = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [start]}, count_words(call.name), None
        for piece in pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, 1, None


def _so_far(reply: Reply, sent: int, options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return _usage_at(reply, sent, kind) if options.get("continuous_usage_stats") else {}


def _usage_at(reply: Reply, sent: int, kind: str) -> dict[str, Any]:
    return usage(
        kind,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=sent,
        cached_tokens=reply.cached_tokens,
        reasoning_tokens=min(sent, reply.reasoning_tokens),
    )


def _head(reply: Reply, request: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": reply.id, "object": kind, "created": CREATED, "model": request.get("model") or "scripted"}
