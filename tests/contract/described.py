"""Answers judged by our own API description, as anybody reads it at /openapi.json."""

import json
from functools import cache
from typing import Any

import jsonschema_rs
import orjson

from anex.docs import description


@cache
def document() -> dict[str, Any]:
    return dict(orjson.loads(description.as_json()))


@cache
def operations() -> dict[str, dict[str, Any]]:
    """Operation id → operation."""
    found = (operation for item in document()["paths"].values() for operation in item.values())
    return {operation["operationId"]: operation for operation in found if "operationId" in operation}


def judged(operation: str, answer: Any) -> int:
    """The status of an answer that the description allows, with the body it allows for it.

    A refusal may say more than its schema lists; what succeeds answers no field that is not described.
    """
    status, body = answer.status_code, json.loads(answer.content)
    schema = operations()[operation]["responses"][str(status)]["content"]["application/json"]["schema"]
    _validator(json.dumps(schema)).validate(body)
    if status < 300:
        assert set(body) <= set(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"])
    return int(status)


@cache
def _validator(schema: str) -> jsonschema_rs.Validator:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document()["components"]}
    return jsonschema_rs.validator_for(whole | json.loads(schema), validate_formats=True, offline=True)
