"""A model server's refusal of a request that its context has no room for, in one form whichever server it was. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final

from anex.core.errors import InvalidRequest

CODE: Final = "context_length_exceeded"
# vLLM: "This model's maximum context length is 2048 tokens. However, you requested 100 output tokens and your prompt
# contains at least 1949 input tokens, for a total of at least 2049 tokens." An earlier wording, and OpenAI's, splits
# the count into messages and completion.
_IS_OVERFLOW: Final = re.compile(r"(?:maximum|max) (?:context|model) len|context length|context_length_exceeded", re.I)
_LIMIT: Final = re.compile(r"context length (?:is|of)(?: only)? (\d+)", re.I)
_INPUT: Final = re.compile(r"(?P<least>at least )?(?P<tokens>\d+) (?:input tokens|in the (?:messages|prompt))", re.I)
_OUTPUT: Final = re.compile(r"(\d+) (?:output tokens|in the completion)", re.I)


def read_overflow(status: int, body: Mapping[str, Any], *, context: int) -> InvalidRequest | None:
    """The 400 for a request that is too long, or None where the refusal is another one.

    Its message gives the context and, where the server reports them, the tokens asked for, split into the messages and
    the completion when both are known (reference 000). `context` is the model's, for a server that names none.
    """
    error = body.get("error")
    told = error if isinstance(error, Mapping) else {}
    words = told.get("message")
    words = words if isinstance(words, str) else ""
    if told.get("type") == "exceed_context_size_error":
        return _refusal(_count(told.get("n_ctx")) or context, _count(told.get("n_prompt_tokens")), None, least=False)
    if status != 400 or not _IS_OVERFLOW.search(words):
        return None
    limit, read, written = _LIMIT.search(words), _INPUT.search(words), _OUTPUT.search(words)
    return _refusal(
        int(limit[1]) if limit else context,
        int(read["tokens"]) if read else None,
        int(written[1]) if written else None,
        least=bool(read and read["least"]),
    )


def _refusal(context: int, read: int | None, written: int | None, *, least: bool) -> InvalidRequest:
    about = "at least " if least else ""
    # In these words frameworks know an overflow from other refusals (litellm, pydantic-ai).
    message = f"This model's maximum context length is {context} tokens."
    if read is not None and written is not None:
        message += f" This request asks for {about}{read + written}: {about}{read} in the messages, "
        message += f"{written} in the completion."
    elif read is not None:
        message += f" The messages of this request have {about}{read}."
    return InvalidRequest(f"{message} Shorten the messages or lower max_tokens.", code=CODE, param="messages")


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
