"""What the tests ask."""

from typing import Any

HI = [{"role": "user", "content": "Name a river."}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
CLOCK = {
    "type": "function",
    "function": {"name": "read_clock", "parameters": {"type": "object", "properties": {}}},
}


def says(text: str) -> list[dict[str, Any]]:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]
