"""Adds the realtime API to the description: its routes are answered outside of what drf-spectacular sees."""

import copy
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
FIELDS = "A field is missing, mistyped, out of range or unknown, or the request does not fit the model's context."
KEYS = "The request of this idempotency key is being answered, or was."
KEYED = {"$ref": "#/components/parameters/RequestKey"}
OPENAI_MEANINGS = MEANINGS | {"400": FIELDS, "409": KEYS, "422": "The model refuses a question as it is written."}
SECOND_MEANINGS = MEANINGS | {
    "400": "A field is missing, mistyped, out of range or names what is not offered; or no room was left to answer.",
    "409": KEYS,
    "422": "The model did not make the call that was demanded, or did not keep to the form.",
    "429": "Too many requests at once, or the credits do not cover this one.",
    "504": "No answer in time; the error says whether it goes on.",
}
# What a call without a key may meet, and refusals that have several bodies: the edge answers a 429 of its own.
ANYBODY = ("405", "429")
BODIES = {"403": "Forbidden", "429": "TooManyRequests"}


def describe(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the paths and schemas of every surface, with the refusals their calls share.

    The paths of the OpenAI-compatible host are whole: some are named like those of the other.
    """
    native = {"url": f"{settings.ANEX_PUBLIC_URL}/realtime/v1", "description": "Realtime API"}
    openai = {"url": settings.ANEX_PUBLIC_URL, "description": "OpenAI-compatible API"}
    _add(result, "native.yaml", native, {status: _refusal(MEANINGS, status) for status in MEANINGS})
    refusals = {status: _refusal(OPENAI_MEANINGS, status, "OpenAIError") for status in OPENAI_MEANINGS}
    for name in ("openai.yaml", "text_protocols.yaml"):
        _add(result, name, openai, refusals)
    second = {s: _refusal(SECOND_MEANINGS, s, "SecondError") for s in SECOND_MEANINGS if s != "402"}
    _add(result, "second.yaml", openai | {"description": "Second OpenAI-compatible API"}, second)
    return result


def _add(result: dict[str, Any], name: str, server: dict[str, str], refusals: dict[str, Any]) -> None:
    described = yaml.safe_load(_text(name))
    result["components"]["schemas"] |= described["schemas"]
    result["components"].setdefault("parameters", {}).update(described.get("parameters", {}))
    for path, item in described["paths"].items():
        for operation in item.values():
            operation["servers"] = [server]
            public = (*ANYBODY, "404") if "{" in path else ANYBODY
            if operation["security"]:
                is_keyed = KEYED in operation.get("parameters", ())
                refused = [status for status in refusals if is_keyed or status != "409"]
            else:
                refused = list(public)
            operation["responses"] |= {status: copy.deepcopy(refusals[status]) for status in refused}
    result["paths"] |= described["paths"]


@cache
def _text(name: str) -> str:
    return (FOLDER / name).read_text()


def _refusal(meanings: dict[str, str], status: str, body: str = "") -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{body or BODIES.get(status, 'Error')}"}
    return {"description": meanings[status], "content": {"application/json": {"schema": schema}}}
