"""The definitions of tools, as they are sent on (reference 000; 004, tools). Pure."""

import re
from collections.abc import Iterable
from typing import Any, Final

from inference.refusals import row_error
from inference.requests import custom_tools

# A tool, and the path of its definition.
Placed = tuple[dict[str, Any], str]

_FUNCTION_FIELDS: Final = ("description", "parameters", "strict")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def read_function(tool: object, at: str) -> Placed:
    """The function as it is sent on, and the path of its definition; or a `RowError`."""
    if not isinstance(tool, dict):
        raise row_error("wrong_type", at, expected="an object with type and function")
    if tool.get("type") != "function":
        raise row_error("missing" if tool.get("type") is None else "wrong_type", f"{at}.type", expected='"function"')
    function, at = tool.get("function"), f"{at}.function"
    if not isinstance(function, dict):
        raise row_error("missing" if function is None else "wrong_type", at, expected="an object with a name")
    return _function(function, at)


def read_any(tool: object, at: str) -> Placed:
    """As `read_function`, in either of OpenAI's spellings and of either kind."""
    if not isinstance(tool, dict):
        raise row_error("wrong_type", at, expected="an object with type and function")
    kind = tool.get("type")
    if kind == "custom":
        return _function(*custom_tools.as_function(tool, at))
    if isinstance(kind, str) and kind != "function":
        raise row_error("hosted_tool", f"{at}.type", type=kind[:64])
    if kind == "function" and "function" not in tool and "name" in tool:
        return _function(tool, at)
    return read_function(tool, at)


def check_names(found: Iterable[Placed]) -> None:
    """Raise `RowError` for a name that no client can send back, or that two tools have."""
    seen = set()
    for tool, at in found:
        name = tool["function"]["name"]
        if not _NAME.fullmatch(name):
            raise row_error("tool_name", f"{at}.name")
        if name in seen:
            raise row_error("tool_twice", f"{at}.name", name=name)
        seen.add(name)


def _function(function: dict[str, Any], at: str) -> Placed:
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise row_error("missing" if name is None else "wrong_type", f"{at}.name", expected="a non-empty string")
    types = {"description": (str, "a string"), "parameters": (dict, "a JSON Schema"), "strict": (bool, "true or false")}
    kept = {field: function[field] for field in _FUNCTION_FIELDS if function.get(field) is not None}
    for field, value in kept.items():
        wanted, expected = types[field]
        if not isinstance(value, wanted):
            raise row_error("wrong_type", f"{at}.{field}", expected=expected)
    return {"type": "function", "function": {"name": name, **kept}}, at
