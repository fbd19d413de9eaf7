"""The token rule of the scripted model: words and marks, with a fixed cost per message and per request."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

_TOKEN = re.compile(r"\w+|[^\w\s]")
_PER_MESSAGE = 4
_PER_REQUEST = 2


def scripted_count(messages: Iterable[dict[str, Any]]) -> int:
    """Tokens of a chat: each word or mark of its text, 4 per message, 2 for the request."""
    return _PER_REQUEST + sum(
        _PER_MESSAGE + sum(len(_TOKEN.findall(text)) for text in _texts(message)) for message in messages
    )


def _texts(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    for part in parts:
        if isinstance(text := part.get("text"), str):
            yield text
