"""The token rule of the scripted model: words and marks, with a fixed cost per message and per request. Pure.

The scripted engine bills by these functions, so a count of ours and its bill agree exactly.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from inference.requests.decisions import DecisionRow, question_texts
from inference.requests.embeddings import EmbeddingRow, as_messages
from inference.requests.rows import Row

TOKENS_PER_MESSAGE = 4
TOKENS_PER_PROMPT = 2

_TOKEN = re.compile(r"\w+|[^\w\s]")


def count_words(text: str) -> int:
    """Tokens of a text: each word and each mark is one."""
    return len(_TOKEN.findall(text))


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list joined by line ends."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part, dict) and _is_text(part))
    return ""


def count_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """Prompt tokens of a chat: per message 4 and its text's tokens, 2 in all; media parts are not counted here."""
    return TOKENS_PER_PROMPT + sum(
        TOKENS_PER_MESSAGE + count_words(text_of(message.get("content"))) for message in messages
    )


def count_row(row: Row) -> int:
    """Prompt tokens of a row of any task."""
    if isinstance(row, EmbeddingRow):
        return count_words(row.input) if isinstance(row.input, str) else count_messages(as_messages(row.input))
    if isinstance(row, DecisionRow):
        return sum(count_words(row.text) + count_words(words) for words in question_texts(row))
    return count_messages(row.messages)


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str)
