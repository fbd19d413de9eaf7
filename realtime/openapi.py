"""Adds the realtime API to the description: its routes are answered outside of what drf-spectacular sees."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

FOLDER = Path(__file__).parent
# What each call may refuse, and how the description says it.
MEANINGS = {
    "400": "Too much in one request, content that is not text, or a model of another task.",
    "401": "The key is unknown, malformed or no longer active.",
    "402": "The credits do not cover this.",
    "403": "The organization is suspended, or this key or organization may not do this.",
    "404": "Unknown model.",
    "405": "The path does not take this method.",
    "408": "The body did not arrive in time.",
    "413": "Too many bytes.",
    "415": "The body is not application/json, or is compressed where that is not taken.",
    "422": "The Authorization header is missing, a field does not fit, or the model refuses a question.",
    "429": "Too many requests at once; wait as Retry-After says.",
    "501": "The model exists and is not served in realtime.",
    "502": "The model's server failed to answer.",
    "503": "The realtime API is frozen, no server of the model answers, or a check could not be made just now.",
    "504": "No answer within 280 seconds.",
}
# What a call without a key may meet, and refusals that have several bodies: the edge answers a 429 of its own.
ANYBODY = ("405", "429")
BODIES = {"403": "Forbidden", "429": "TooManyRequests"}


def describe(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the paths and schemas of `description.yaml`, with the refusals they share."""
    described = yaml.safe_load(_text())
    result["components"]["schemas"] |= described["schemas"]
    for item in described["paths"].values():
        for operation in item.values():
            operation["servers"] = [{"url": f"{settings.ANEX_PUBLIC_URL}/realtime/v1", "description": "Realtime API"}]
            refused = MEANINGS if operation["security"] else ANYBODY
            operation["responses"] |= {status: _refusal(status) for status in refused}
    result["paths"] |= described["paths"]
    return result


@cache
def _text() -> str:
    return (FOLDER / "description.yaml").read_text()


def _refusal(status: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{BODIES.get(status, 'Error')}"}
    return {"description": MEANINGS[status], "content": {"application/json": {"schema": schema}}}
