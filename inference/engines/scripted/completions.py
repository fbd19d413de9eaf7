"""Legacy completions: one prompt, one text, whole or as chunks. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from inference.counting.words import count_words
from inference.engines.refusals import Refusal, check_context
from inference.engines.scripted import bodies
from inference.engines.scripted.chat import logprobs, output_limit
from inference.engines.scripted.faults import Directives
from inference.engines.scripted.prose import Cut, cut, digest, sentence
from inference.engines.scripted.words import pieces

DEFAULT_TOKENS = 16


def prompt_of(request: Mapping[str, Any]) -> str:
    """The prompt; a list of one text is that text."""
    prompt = request.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise Refusal("prompt must be one text.", param="prompt")
    if request.get("n") not in (None, 1) or request.get("best_of") not in (None, 1):
        raise Refusal("Only n = 1 and best_of = 1 are supported.", param="n")
    return prompt


def whole(request: Mapping[str, Any], found: Directives, *, max_model_len: int, usage_kind: str) -> dict[str, Any]:
    """The body of a non-streamed completion."""
    prompt, done = _complete(request, found, max_model_len)
    text = (prompt if request.get("echo") else "") + done.text
    choice = {"index": 0, "text": text, "finish_reason": done.reason, "logprobs": _logprobs(request, done)}
    counts = {"prompt_tokens": count_words(prompt), "completion_tokens": done.tokens}
    return {**_head(request), "choices": [choice], **bodies.usage(usage_kind, **counts)}


def chunks(
    request: Mapping[str, Any], found: Directives, *, max_model_len: int, usage_kind: str
) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed completion."""
    prompt, done = _complete(request, found, max_model_len)
    head = _head(request)
    for text in ([prompt] if request.get("echo") else []) + pieces(done.text):
        yield {**head, "choices": [{"index": 0, "text": text, "finish_reason": None, "logprobs": None}]}
    yield {**head, "choices": [{"index": 0, "text": "", "finish_reason": done.reason, "logprobs": None}]}
    if (request.get("stream_options") or {}).get("include_usage"):
        counts = {"prompt_tokens": count_words(prompt), "completion_tokens": done.tokens}
        yield {**head, "choices": [], **bodies.usage(usage_kind, **counts)}


def _complete(request: Mapping[str, Any], found: Directives, max_model_len: int) -> tuple[str, Cut]:
    prompt = prompt_of(request)
    limit = output_limit(request) or DEFAULT_TOKENS
    budget = check_context(prompt_tokens=count_words(prompt), output_tokens=limit, limit=max_model_len)
    words = sentence(digest(prompt, request.get("seed")), found.number("tokens"))
    return prompt, cut(words, stop=request.get("stop"), budget=budget)


def _logprobs(request: Mapping[str, Any], done: Cut) -> dict[str, Any] | None:
    wanted = request.get("logprobs")
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        return None
    entries = logprobs(done.text, wanted)
    offsets = [sum(len(piece["token"]) for piece in entries[:index]) for index in range(len(entries))]
    return {
        "tokens": [entry["token"] for entry in entries],
        "token_logprobs": [entry["logprob"] for entry in entries],
        "top_logprobs": [{top["token"]: top["logprob"] for top in entry["top_logprobs"]} for entry in entries],
        "text_offset": offsets,
    }


def _head(request: Mapping[str, Any]) -> dict[str, Any]:
    identity = digest(request.get("prompt"), request.get("seed"), size=12).hex()
    model = request.get("model") or "scripted"
    return {"id": "cmpl-" + identity, "object": "text_completion", "created": bodies.CREATED, "model": model}
