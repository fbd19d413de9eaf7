"""Which form an answer has to keep to: that of a forced call, or a `response_format` (references 000 and 004). Pure."""

from typing import Any

import orjson

from inference.refusals import row_error
from inference.requests.profiles import Profile
from inference.requests.response_format import TYPES, constrains, read_response_format, upstream_format
from inference.requests.schema_bounds import check_bounds
from inference.requests.tools import ToolUse


def read_forms(
    value: object, use: ToolUse, profile: Profile
) -> tuple[dict[str, Any] | None, tuple[tuple[str, bytes], ...]]:
    """What constrains the answer, and the schemas in it: the functions of a forced call, else a response_format."""
    if profile.keeps_promises:
        _check_form(value, use)
    schema = read_response_format(value) if value is not None else None
    if use.forces:
        forced = [(place, each["parameters"]) for place, each in use.placed_forced if "parameters" in each]
        if profile.takes_custom:
            check_bounds((f"{place}.parameters", parameters) for place, parameters in forced)
        return None, tuple(
            (f"{place.removeprefix('body.')}.parameters", orjson.dumps(parameters)) for place, parameters in forced
        )
    if not isinstance(value, dict) or not constrains(value):
        return None, ()
    return upstream_format(value), () if schema is None else (("response_format.json_schema.schema", schema),)


def _check_form(value: object, use: ToolUse) -> None:
    """Raise `RowError` for a form that cannot be promised (reference 004, response_format)."""
    if not isinstance(value, dict) or value.get("type") == "text":
        return
    if value.get("type") not in TYPES:
        raise row_error("unknown_format", "body.response_format.type")
    if use.tools:
        raise row_error("format_beside_tools", "body.response_format")
    told = value.get("json_schema")
    schema = told.get("schema") if isinstance(told, dict) else None
    if value["type"] == "json_schema" and isinstance(schema, dict):
        at = "body.response_format.json_schema.schema"
        if schema.get("type", "object") != "object":
            raise row_error("schema_root", at)
        check_bounds([(at, schema)])
