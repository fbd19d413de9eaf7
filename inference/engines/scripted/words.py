"""How the scripted engine counts tokens: one per word or punctuation mark. Pure.

`count_words` and `count_messages` are the tokenizer of the catalogue's scripted model; the platform's own
counting uses these two functions, so both sides agree exactly.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

TOKENS_PER_MESSAGE = 4
TOKENS_PER_PROMPT = 2
MEDIA_TOKENS = {"image_url": 64, "input_audio": 50, "audio_url": 50, "video_url": 200, "file": 100}

_TOKEN = re.compile(r"\w+|[^\w\s]")
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])")


def count_words(text: str) -> int:
    """Tokens of a text."""
    return len(_TOKEN.findall(text))


def pieces(text: str) -> list[str]:
    """The text cut into its tokens, white space kept in front of each; joined they are the text again."""
    found = _PIECE.findall(text)
    rest = text[sum(map(len, found)) :]
    if rest and found:
        found[-1] += rest
    return found or ([text] if text else [])


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


def count_media(messages: Iterable[Mapping[str, Any]]) -> int:
    """Tokens of the media parts of a chat, a fixed number for each kind."""
    return sum(
        MEDIA_TOKENS.get(str(part.get("type")), 0)
        for message in messages
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict)
    )


def last_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last message a user wrote; empty when there is none."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str)
