"""What the scripted engine reads in texts beside their number of tokens. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inference.counting.words import text_of

MEDIA_TOKENS = {"image_url": 64, "input_audio": 50, "audio_url": 50, "video_url": 200, "file": 100}

_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])")


def pieces(text: str) -> list[str]:
    """The text cut into its tokens, white space kept in front of each; joined they are the text again."""
    found = _PIECE.findall(text)
    rest = text[sum(map(len, found)) :]
    if rest and found:
        found[-1] += rest
    return found or ([text] if text else [])


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
