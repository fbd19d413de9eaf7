"""Adds files and batches of the OpenAI-compatible host to the description, with the error of its other calls."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

FOLDER = Path(__file__).parent
# What every call may refuse, and how the description says it; further refusals are named where they belong.
MEANINGS = {
    "401": "The key is missing, unknown, malformed or no longer active.",
    "403": "The organization is suspended, or this key or organization may not do this.",
    "405": "The path does not take this method.",
    "429": "Too many requests, uploads or batches at once; wait as Retry-After says.",
    "503": "A check could not be made just now, or the API is frozen for maintenance; send it again later.",
}
FURTHER = {
    "400": "The request is refused; `param` names the field.",
    "402": "The credits do not cover this.",
    "404": "No such id in this organization, or the file was deleted.",
    "408": "The upload stalled or came too slowly; send it again.",
    "409": "The Idempotency-Key was used for another request, or it is too late to cancel this batch.",
    "413": "Too many bytes, or a line that is too long.",
    "415": "The body is of another type.",
    "416": "The range lies outside of the file.",
    "421": "The data is kept in the other region.",
    "500": "The batch may have been made: list your batches before you try again.",
}


def describe(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the paths and schemas of `openai_description.yaml`, with the refusals they share."""
    described = yaml.safe_load(_text())
    result["components"]["schemas"] |= described["schemas"]
    for item in described["paths"].values():
        for operation in item.values():
            operation["servers"] = [{"url": settings.ANEX_PUBLIC_URL, "description": "OpenAI-compatible API"}]
            operation["security"] = [{"apiKey": []}]
            refused = MEANINGS | {status: FURTHER[status] for status in operation.pop("refusals")}
            answered = operation["responses"]
            operation["responses"] = answered | {status: _refusal(text) for status, text in refused.items()}
    result["paths"] |= described["paths"]
    return result


@cache
def _text() -> str:
    return (FOLDER / "openai_description.yaml").read_text()


def _refusal(meaning: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/OpenAIError"}
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}
