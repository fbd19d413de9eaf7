"""The form that the words of a prompt ask an answer to have: a JSON schema written out, or keys named. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inference.counting.words import text_of
from inference.engines.scripted.schemas import QUOTED

_ASKING = frozenset({"system", "developer", "user"})
_DECODER = json.JSONDecoder()


def written_schema(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The last JSON schema of an object that stands in what the model was told; None without one."""
    for message in reversed(messages):
        if message.get("role") in _ASKING:
            found = [schema for schema, _, _ in _schemas(text_of(message.get("content")))]
            if found:
                return found[-1]
    return None


def without_schemas(text: str) -> str:
    """The text with the schemas in it left out."""
    for _, start, end in reversed(list(_schemas(text))):
        text = text[:start] + text[end:]
    return text


def named_keys(text: str) -> list[str]:
    """The quoted names of a text that speaks of keys: `with 'setup' and 'punchline' keys`."""
    if not re.search(r"\bkeys?\b", text):
        return []
    quoted = [double or single for double, single in QUOTED.findall(text)]
    return [name for name in quoted if name.isidentifier()]


def _schemas(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Each schema with where it starts and ends."""
    at = text.find("{") if '"properties"' in text else -1
    while at >= 0:
        end = at + 1
        try:
            value, stop = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            pass
        else:
            if isinstance(value, dict) and isinstance(value.get("properties"), dict):
                yield value, at, stop
                end = stop
        at = text.find("{", end)
