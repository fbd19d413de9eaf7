"""Adds what a key may read about money to the description, under the prefix of each OpenAI-compatible API."""

import copy
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings

FOLDER: Final = Path(__file__).parent
# What comes before the paths, and after the names of their operations.
PREFIXES: Final = {"/v1": "", "/openai/v1": "OnSecond"}
MEANINGS: Final = {
    "401": "The key is missing, unknown, malformed or no longer active.",
    "403": "The organization is suspended.",
    "405": "The path does not take this method.",
    "429": "Requests arrive too fast; wait as Retry-After says.",
    "503": "The key could not be checked just now; send it again later.",
}
FURTHER: Final = {
    "400": "A parameter makes no sense; `param` names it.",
    "404": "No such request in this organization.",
}


def describe(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the paths and schemas of `description.yaml`, with the refusals they share."""
    described = yaml.safe_load(_text())
    result["components"]["schemas"] |= described["schemas"]
    for prefix, suffix in PREFIXES.items():
        for path, item in copy.deepcopy(described["paths"]).items():
            for operation in item.values():
                _complete(operation, suffix)
            result["paths"][prefix + path] = item
    return result


def _complete(operation: dict[str, Any], suffix: str) -> None:
    operation["operationId"] += suffix
    operation["tags"] = ["account"]
    operation["servers"] = [{"url": settings.ANEX_PUBLIC_URL, "description": "OpenAI-compatible API"}]
    operation["security"] = [{"apiKey": []}]
    further = {status: FURTHER[status] for status in operation.pop("refusals", ())}
    operation["responses"] |= {status: _refusal(text) for status, text in (MEANINGS | further).items()}


@cache
def _text() -> str:
    return (FOLDER / "description.yaml").read_text()


def _refusal(meaning: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/OpenAIError"}
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}
