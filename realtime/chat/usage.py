"""The `usage` of an answer, as OpenAI names its counts. Pure."""

from typing import Any

from anex.core.usage import Usage


def usage_object(usage: Usage, *, reasoning_tokens: int | None = None) -> dict[str, Any]:
    """What is billed, in tokens; the thinking within the output where the server told it."""
    told: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if reasoning_tokens is not None:
        told["completion_tokens_details"] = {"reasoning_tokens": min(reasoning_tokens, usage.output_tokens)}
    return told
