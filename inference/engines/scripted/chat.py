"""The answer to a chat request: reasoning, text or calls, counts. Pure, and the same whether streamed or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from inference.counting.words import count_messages
from inference.engines.refusals import Refusal, check_context
from inference.engines.scripted import forms, tools
from inference.engines.scripted.faults import Directives
from inference.engines.scripted.media import count_media
from inference.engines.scripted.prose import cut, digest, sentence
from inference.engines.scripted.schemas import Filler, Supply, Unfillable
from inference.engines.scripted.words import pieces

EFFORT_TOKENS = {"none": 0, "minimal": 4, "low": 8, "medium": 16, "high": 32, "xhigh": 64}
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, before it is put into a body or cut into chunks."""

    id: str
    reasoning: str
    text: str | None
    calls: tuple[tools.Call, ...]
    finish_reason: str
    prompt_tokens: int
    reasoning_tokens: int
    completion_tokens: int
    cached_tokens: int


def check(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of a request; refuses what vLLM refuses."""
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal("messages must be a non-empty list.", param="messages")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise Refusal("Every message is an object with a known role.", param="messages")
    if request.get("n") not in (None, 1):
        raise Refusal("Only n = 1 is supported.", param="n")
    for name, low, high in (("temperature", 0, 2), ("top_p", 0, 1)):
        value = request.get(name)
        if value is not None and (not isinstance(value, int | float) or not low <= value <= high):
            raise Refusal(f"{name} must be between {low} and {high}.", param=name)
    return messages


def output_limit(request: Mapping[str, Any]) -> int | None:
    """`max_completion_tokens` or `max_tokens`; None where neither is given."""
    for name in ("max_completion_tokens", "max_tokens"):
        value = request.get(name)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise Refusal(f"{name} must be at least 1.", param=name)
            return value
    return None


def answer(request: Mapping[str, Any], found: Directives, *, max_model_len: int, cached_tokens: int) -> Reply:
    """Answer a checked request whose last prompt carries the directives `found`."""
    messages, seed = request["messages"], request.get("seed")
    prompt_tokens = count_messages(messages) + count_media(request, messages)
    budget = check_context(prompt_tokens=prompt_tokens, output_tokens=output_limit(request), limit=max_model_len)
    key = digest(messages, seed)
    thinking = _thinking(request, found)
    reasoning = cut(sentence(key[::-1], thinking), stop=None, budget=budget) if thinking else None
    spent = reasoning.tokens if reasoning else 0
    text, calls, used, reason = _content(request, found, key, budget - spent)
    return Reply(
        id="chatcmpl-" + key[:12].hex(),
        reasoning=reasoning.text if reasoning else "",
        text=text,
        calls=calls,
        finish_reason=reason,
        prompt_tokens=prompt_tokens,
        reasoning_tokens=spent,
        completion_tokens=spent + used,
        cached_tokens=min(cached_tokens, prompt_tokens),
    )


def _content(
    request: Mapping[str, Any], found: Directives, key: bytes, budget: int
) -> tuple[str | None, tuple[tools.Call, ...], int, str]:
    chosen = tools.choose(request, found, seed=request.get("seed"), budget=budget)
    if chosen:
        return None, chosen.calls, chosen.tokens, chosen.finish_reason
    done = cut(_words(request, found, key), stop=request.get("stop"), budget=budget)
    return done.text, (), done.tokens, done.reason


def _words(request: Mapping[str, Any], found: Directives, key: bytes) -> str:
    if "echo" in found.words:
        return found.text
    wanted = request.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return _filled((wanted.get("json_schema") or {}).get("schema", {}), found.text)
    if (schema := forms.written_schema(request["messages"])) is not None:
        return _filled(schema, forms.without_schemas(found.text))
    if wanted.get("type") == "json_object":
        words = sentence(key, found.number("tokens"))
        return orjson.dumps(dict.fromkeys(forms.named_keys(found.text) or ["answer"], words)).decode()
    last = request["messages"][-1]
    if last.get("role") == "tool" and isinstance(last.get("content"), str):
        return f"The tool says: {last['content']}"
    return sentence(key, found.number("tokens"))


def _filled(schema: Any, text: str) -> str:
    try:
        return orjson.dumps(Filler(schema, Supply(text)).fill(schema)).decode()
    except (Unfillable, TypeError, ValueError, AttributeError) as error:
        raise Refusal(f"The schema cannot be filled: {error}", param="response_format") from error


def _thinking(request: Mapping[str, Any], found: Directives) -> int:
    """Tokens of reasoning: as directed, else by effort; capped by the budget; 0 where thinking is off."""
    template = request.get("chat_template_kwargs") or {}
    effort = template.get("reasoning_effort") or request.get("reasoning_effort")
    if effort is not None and effort not in EFFORT_TOKENS:
        raise Refusal(f"Unknown reasoning_effort {effort!r}.", param="reasoning_effort")
    on = template.get("enable_thinking", effort is not None)
    tokens = found.number("think", EFFORT_TOKENS[effort or "medium"]) if on else 0
    cap = request.get("thinking_token_budget")
    return tokens if not isinstance(cap, int) else min(tokens, max(0, cap))


def logprobs(text: str, top: int) -> list[dict[str, Any]]:
    """One entry per token of `text`, with `top` alternatives, in the shape of chat completions."""
    entries = []
    for piece in pieces(text):
        key = digest(piece, size=2 + max(1, top))
        ranked = [
            {"token": piece if rank == 0 else f" {rank}", "logprob": -(key[0] / 256) - rank, "bytes": None}
            for rank in range(max(1, top))
        ]
        first = {**ranked[0], "bytes": list(piece.encode())}
        entries.append({**first, "top_logprobs": [first, *ranked[1:]][:top]})
    return entries
