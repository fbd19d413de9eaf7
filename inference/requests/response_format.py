"""Checks a `response_format`: the same rules on a job, in a row and on every other surface."""

from functools import lru_cache
from typing import Any

import orjson

from anex.core.errors import InvalidRequest
from inference.requests.schema_process import schema_fault

# A row may carry a schema of 200 MB; such ones are not kept.
_KEPT_BYTES = 64 * 1024
TYPES = ("text", "json_object", "json_schema")


def check_response_format(value: object, *, param: str = "response_format") -> None:
    """Raise `InvalidRequest` unless `value` is `text`, `json_object`, or `json_schema` with a schema that compiles.

    A schema may refer to itself (`#/$defs/…`) but to nothing outside: nothing is fetched. What passes can be written
    as JSON and read again, inside a row too: no broken text, no number beyond 64 bits, not too many levels.
    """
    schema = read_response_format(value, param=param)
    if schema is not None:
        check_schema(schema, f"{param}.json_schema.schema")


def read_response_format(value: object, *, param: str = "response_format") -> bytes | None:
    """As `check_response_format`, without the child process: the schema, which is left to `check_schema`."""
    if not isinstance(value, dict):
        raise _refused(f"{param} must be an object", param)
    try:
        orjson.loads(orjson.dumps([[[[value]]]]))
    except (TypeError, ValueError):
        raise _refused(
            f"{param} must not nest too deeply or hold broken text or numbers beyond 64 bits", param
        ) from None
    kind = value.get("type")
    if kind not in TYPES:
        raise _refused(f"{param}.type must be one of {', '.join(TYPES)}", f"{param}.type")
    return _schema(value.get("json_schema"), f"{param}.json_schema") if kind == "json_schema" else None


def check_schema(schema: bytes, param: str) -> None:
    """Raise `InvalidRequest` unless the schema compiles. Waits for the child process, for half a second at most."""
    fault = _compile_fault(schema) if len(schema) <= _KEPT_BYTES else schema_fault(schema)
    if fault is not None:
        raise _refused(f"{param} is not a valid JSON Schema: {fault}", param)


def constrains(value: dict[str, Any] | None) -> bool:
    """Whether the answer's form is constrained; plain text is not."""
    return value is not None and value.get("type") != "text"


def upstream_format(value: dict[str, Any]) -> dict[str, Any]:
    """The value as model servers want it: a schema without a name gets one."""
    if value["type"] != "json_schema":
        return {"type": value["type"]}
    schema = value["json_schema"]
    return {"type": "json_schema", "json_schema": {**schema, "name": schema.get("name") or "response"}}


def _schema(value: object, param: str) -> bytes:
    if not isinstance(value, dict):
        raise _refused(f"{param} must be an object with a schema", param)
    name, schema = value.get("name"), value.get("schema")
    if name is not None and not isinstance(name, str):
        raise _refused(f"{param}.name must be a string", f"{param}.name")
    if not isinstance(value.get("strict"), bool | None):
        raise _refused(f"{param}.strict must be true or false", f"{param}.strict")
    if not isinstance(schema, dict):
        raise _refused(f"{param}.schema must be a JSON Schema object", f"{param}.schema")
    return orjson.dumps(schema)


@lru_cache(maxsize=64)
def _compile_fault(schema: bytes) -> str | None:
    """Why a schema does not compile, or None. Cached: the rows of a file mostly share one schema."""
    return schema_fault(schema)


def _refused(message: str, param: str) -> InvalidRequest:
    return InvalidRequest(message, code="invalid_response_format", param=param)
