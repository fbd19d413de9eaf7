"""The API description: OpenAPI 3.1, generated once per process from what the views declare."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import yaml
from drf_spectacular.generators import SchemaGenerator

# Answers that carry a wait, in whole seconds.
WITH_WAIT = {"429", "503"}
RETRY_AFTER = {"description": "Seconds to wait before the request is sent again.", "schema": {"type": "integer"}}


@cache
def as_json() -> bytes:
    """The description, compact."""
    return orjson.dumps(_generate())


@cache
def as_yaml() -> bytes:
    """The same as YAML, for people and for tools that prefer it."""
    return yaml.safe_dump(_generate(), sort_keys=False, allow_unicode=True, width=120).encode()


def declare_waits(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: `Retry-After` on every answer that asks to wait."""
    for responses in (operation["responses"] for operation in _operations(result)):
        for status in WITH_WAIT & set(responses):
            responses[status]["headers"] = {"Retry-After": RETRY_AFTER}
    return result


def require_bodies(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular, which takes a body for optional where every field of it is."""
    for body in (operation["requestBody"] for operation in _operations(result) if "requestBody" in operation):
        body["required"] = True
    return result


def loosen_unions(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: a refusal may be of several kinds at once, such as frozen with a `detail` besides."""
    for schema in result["components"]["schemas"].values():
        if "oneOf" in schema:
            schema["anyOf"] = schema.pop("oneOf")
    return result


def _operations(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (operation for path in result["paths"].values() for operation in path.values())


def _generate() -> dict[str, Any]:
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return schema
