"""Adds the OpenAI-compatible host's files to the description: nothing generates their routes."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings

FOLDER: Final = Path(__file__).parent / "api" / "files"
# What every call may refuse, and what only some do.
EVERY_CALL: Final = {
    "401": "The key is missing, unknown, malformed or no longer active.",
    "403": "The organization is suspended, or this key or organization may not do this.",
    "405": "The path does not take this method.",
    "429": "Too many requests, or two files are being uploaded already; wait as Retry-After says.",
    "503": "The API is frozen, or something could not be reached just now.",
}
MORE: Final = {
    "400": "A field or a line of the file is refused; the sentence says which and why.",
    "402": "The credits do not cover this.",
    "404": "No such file in this organization, or it was deleted, which the sentence says.",
    "408": "The upload stalled or came too slowly.",
    "413": "The file or a line of it is too long.",
    "415": "The body is compressed.",
    "416": "The range lies behind the end of the file.",
    "421": "The data is kept in the other region; `api` names the origin to send the same request to.",
}
REFUSED: Final = {
    "listFiles": ("400", "404"),
    "createFile": ("400", "402", "408", "413", "415", "421"),
    "getFile": ("404", "421"),
    "deleteFile": (),
    "getFileContent": ("404", "416", "421"),
}


def describe(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the paths and schemas of `description.yaml`, with the refusals they share."""
    described = yaml.safe_load(_text())
    result["components"]["schemas"] |= described["schemas"]
    result["components"].setdefault("parameters", {}).update(described["parameters"])
    for item in described["paths"].values():
        for operation in item.values():
            operation["servers"] = [{"url": f"{settings.ANEX_PUBLIC_URL}/v1", "description": "OpenAI-compatible API"}]
            operation["security"] = [{"apiKey": []}]
            meanings = EVERY_CALL | {status: MORE[status] for status in REFUSED[operation["operationId"]]}
            operation["responses"] |= {status: _refusal(meanings[status]) for status in sorted(meanings)}
    result["paths"] |= described["paths"]
    return result


@cache
def _text() -> str:
    return (FOLDER / "description.yaml").read_text()


def _refusal(meaning: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/OpenAIError"}
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}
