"""What the scripted engine reads in texts beside their number of tokens. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inference.counting.words import text_of

_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])")


def pieces(text: str) -> list[str]:
    """The text cut into its tokens, white space kept in front of each; joined they are the text again."""
    found = _PIECE.findall(text)
    rest = text[sum(map(len, found)) :]
    if rest and found:
        found[-1] += rest
    return found or ([text] if text else [])


def last_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last message a user wrote; empty when there is none."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""
