"""A model server's refusal of a request that its context has no room for, in one form whichever server it was. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from anex.core.errors import InvalidRequest

CODE: Final = "context_length_exceeded"
# vLLM: "This model's maximum context length is 2048 tokens. However, you requested 100 output tokens and your prompt
# contains at least 1949 input tokens, for a total of at least 2049 tokens." An earlier wording, and OpenAI's, splits
# the count into messages and completion. A text that is long beyond doubt is not counted: "your prompt contains 9000
# characters (more than 4096 characters, which is the upper bound for 256 input tokens)".
_IS_OVERFLOW: Final = re.compile(
    r"(?:maximum|max) (?:context|model) len|context length|context_length_exceeded|max_model_len", re.I
)
_LIMIT: Final = re.compile(r"(?:context length (?:is|of)(?: only)? |max_model_len=)(\d+)", re.I)
_READ: Final = re.compile(r"contains (?P<least>at least )?(\d+) input tokens|(\d+) in the (?:messages|prompt)", re.I)
_BEYOND: Final = re.compile(r"more than \d+ characters.+ bound for (\d+) input tokens", re.I | re.S)
_WRITTEN: Final = re.compile(r"(\d+) (?:output tokens|in the completion)", re.I)

# What is too long, by the field that holds it, and what can be done about it.
_HAVE: Final = {
    "messages": ("The messages of this request have", "Shorten the messages or lower max_tokens."),
    "input": ("An input of this request has", "Shorten it."),
    "state": ("The state of this request has", "Shorten it."),
}
Field = Literal["messages", "input", "state"]


def read_overflow(
    status: int, body: Mapping[str, Any], *, context: int, field: Field = "messages"
) -> InvalidRequest | None:
    """The 400 for a request that is too long, or None where the refusal is another one.

    Its message gives the context and, where the server reports them, the tokens asked for, split into the messages and
    the completion when both are known (reference 000). `context` is the model's, for a server that names none; `field`
    holds what is too long.
    """
    error = body.get("error")
    told = error if isinstance(error, Mapping) else {}
    words = told.get("message")
    words = words if isinstance(words, str) else ""
    if told.get("type") == "exceed_context_size_error":
        limit, read = _count(told.get("n_ctx")), _count(told.get("n_prompt_tokens"))
        return _refusal(limit or context, (read, None, ""), field)
    if status != 400 or not _IS_OVERFLOW.search(words):
        return None
    named = _LIMIT.search(words)
    return _refusal(int(named[1]) if named else context, _counts(words), field)


def _counts(words: str) -> tuple[int | None, int | None, str]:
    """Tokens read and written, as far as they are told, and the words before a count that stopped."""
    if beyond := _BEYOND.search(words):
        return int(beyond[1]) + 1, None, "at least "
    read, written = _READ.search(words), _WRITTEN.search(words)
    about = "at least " if read and read["least"] else ""
    return int(read[2] or read[3]) if read else None, int(written[1]) if written else None, about


def _refusal(context: int, counts: tuple[int | None, int | None, str], field: Field) -> InvalidRequest:
    read, written, about = counts
    have, advice = _HAVE[field]
    # In these words frameworks know an overflow from other refusals (litellm, pydantic-ai).
    message = f"This model's maximum context length is {context} tokens."
    if read is not None and written is not None:
        message += f" This request asks for {about}{read + written}: {about}{read} in the messages, "
        message += f"{written} in the completion."
    elif read is not None:
        message += f" {have} {about}{read}."
    return InvalidRequest(f"{message} {advice}", code=CODE, param=field)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
