"""Custom tools, whose input is free text: a model is offered a function of one string (reference 004, tools). Pure."""

from typing import Any, Final

import orjson

from inference.refusals import expected, row_error

INPUT: Final = "input"
_SYNTAXES: Final = ("lark", "regex")
_PARAMETERS: Final = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}


def as_function(tool: dict[str, Any], at: str) -> tuple[dict[str, Any], str]:
    """The function that stands for a custom tool, and the path of its definition; or a `RowError`.

    Its fields may stand under `custom`, or beside the type as the Responses API has them.
    """
    custom = tool
    if "custom" in tool:
        custom, at = tool["custom"], f"{at}.custom"
    if not isinstance(custom, dict):
        raise row_error("wrong_type", at, expected="an object with a name")
    told = custom.get("description")
    if told is not None and not isinstance(told, str):
        raise row_error("wrong_type", f"{at}.description", expected="a string")
    words = [told, _grammar(custom.get("format"), f"{at}.format")]
    description = "\n\n".join(word for word in words if word)
    function = {"name": custom.get("name"), "parameters": _PARAMETERS}
    return function | ({"description": description} if description else {}), at


def call_as_function(custom: object, at: str) -> dict[str, Any]:
    """An earlier call of a custom tool, as the call of its function; or a `RowError`."""
    if not isinstance(custom, dict):
        raise row_error("wrong_type", at, expected="an object with a name and an input")
    given = custom.get(INPUT)
    if not isinstance(given, str):
        raise expected("a string", given, f"{at}.{INPUT}")
    return {"name": custom.get("name"), "arguments": orjson.dumps({INPUT: given}).decode()}


def _grammar(form: object, at: str) -> str | None:
    """What a model is told of the form of a tool's input; None for any text."""
    if form is None:
        return None
    if not isinstance(form, dict):
        raise row_error("wrong_type", at, expected="an object with a type")
    kind = form.get("type")
    if kind == "text":
        return None
    if kind != "grammar":
        raise row_error("missing" if kind is None else "wrong_type", f"{at}.type", expected="text or grammar")
    grammar = form
    if "grammar" in form:
        grammar, at = form["grammar"], f"{at}.grammar"
    if not isinstance(grammar, dict):
        raise row_error("wrong_type", at, expected="an object with syntax and definition")
    syntax, definition = grammar.get("syntax"), grammar.get("definition")
    if syntax not in _SYNTAXES:
        raise row_error("missing" if syntax is None else "wrong_type", f"{at}.syntax", expected=" or ".join(_SYNTAXES))
    if not isinstance(definition, str) or not definition:
        raise row_error("missing" if definition is None else "wrong_type", f"{at}.definition", expected="a string")
    return f"Write {INPUT} so that it matches this grammar ({syntax}):\n{definition}"
