"""Which messages of a conversation are sent on, where a plan bounds them in bytes (reference 004, lengths). Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

from inference.media.parts import MediaPart

PER_MESSAGE: Final = 64
PER_REQUEST: Final = 128
_ALWAYS: Final = frozenset({"system", "developer"})


class History(NamedTuple):
    """What is sent on: messages, the media in their places, and how many messages were left out."""

    messages: list[dict[str, Any]]
    media: tuple[MediaPart, ...]
    dropped: int


def trim(messages: list[dict[str, Any]], media: Sequence[MediaPart], budget: int) -> History:
    """Leave out the oldest exchanges, whole, until the rest fits into `budget` bytes.

    An exchange is a user's message, or several in a row, and all that follows up to the next. The newest is always
    sent, even alone over the budget; instructions are sent where they stand and not counted.
    """
    owners = _exchanges(messages)
    sizes: Counter[int] = Counter()
    places = iter(media)
    for message, owner in zip(messages, owners, strict=True):
        size = _size(message, places)
        if owner is not None:
            sizes[owner] += size
    first, oldest = min(sizes, default=0), max(sizes, default=0)
    total = PER_REQUEST + sizes[oldest]
    while oldest > first and (total := total + sizes[oldest - 1]) <= budget:
        oldest -= 1
    kept, left, places = [], [], iter(media)
    for message, owner in zip(messages, owners, strict=True):
        inside = [next(places) for _ in range(_places(message))]
        if owner is None or owner >= oldest:
            kept.append(message)
            left += inside
    return History(kept, tuple(left), len(messages) - len(kept))


def _exchanges(messages: list[dict[str, Any]]) -> list[int | None]:
    """The number of each message's exchange, None for instructions; what stands before the first question is 0."""
    owners: list[int | None] = []
    number, asks = 0, False
    for message in messages:
        role = message["role"]
        if role in _ALWAYS:
            owners.append(None)
            continue
        if role == "user" and not asks:
            number += 1
        asks = role == "user"
        owners.append(number)
    return owners


def _size(message: dict[str, Any], media: Any) -> int:
    urls = [next(media).url or "" for _ in range(_places(message))]
    return len(orjson.dumps(message)) + sum(len(url.encode()) for url in urls) + PER_MESSAGE


def _places(message: dict[str, Any]) -> int:
    """How many pictures and clips stand in a message."""
    content = message["content"]
    return sum(part["type"] != "text" for part in content) if isinstance(content, list) else 0
