"""The API description as Markdown: every call with what it takes and answers, from `/openapi.json`."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import orjson

from anex.docs import description
from anex.docs.tables import cell, table

_METHODS: Final = ("get", "post", "put", "patch", "delete")


@cache
def markdown(tags: Sequence[str]) -> str:
    """Every call of these tags, a heading each: its parameters, the fields of its body, what it answers and refuses.

    What calls answer is described once, behind the last of them.
    """
    described = orjson.loads(description.as_json())
    components = described["components"]
    shown: dict[str, None] = {}
    calls = [
        _call(f"{method.upper()} {path}", operation, described["servers"], components, shown)
        for tag in tags
        for path, item in described["paths"].items()
        for method in _METHODS
        if (operation := item.get(method)) and tag in operation.get("tags", ())
    ]
    return "\n\n".join((*calls, *(_object(name, components["schemas"]) for name in shown)))


def _call(
    name: str,
    operation: dict[str, Any],
    servers: list[dict[str, str]],
    components: dict[str, Any],
    shown: dict[str, None],
) -> str:
    """`shown` gathers the schemas that are answered."""
    schemas = components["schemas"]
    answers = {code: _referred(answer, components) for code, answer in operation["responses"].items()}
    address = name.replace(" ", f" {(operation.get('servers') or servers)[0]['url']}", 1)
    parts = [f"### {name}", f"**{operation['summary']}.**", operation.get("description", "")]
    parts += [f"`{address}` · `{operation['operationId']}`"]
    if parameters := [_referred(parameter, components) for parameter in operation.get("parameters", ())]:
        rows = ((f"`{p['name']}`", p["in"], _kind(p["schema"]), cell(p.get("description", ""))) for p in parameters)
        parts += [table(("parameter", "in", "type", ""), rows)]
    for schema in _schemas(operation.get("requestBody", {})):
        parts += ["Body:", _fields(schema, schemas)]
    for code, answer in answers.items():
        if code < "300":
            parts += [f"Answers {code}{_named(answer, shown)}: {answer['description']}"]
    refusals = sorted((code, cell(a["description"])) for code, a in answers.items() if code >= "400")
    parts += ["Refuses:", table(("status", ""), refusals)] if refusals else []
    return "\n\n".join(part for part in parts if part)


def _object(name: str, schemas: dict[str, Any]) -> str:
    schema = _resolved(schemas[name], schemas)
    return "\n\n".join(
        part for part in (f"### {name} object", schema.get("description", ""), _fields(schema, schemas)) if part
    )


def _named(answer: dict[str, Any], shown: dict[str, None]) -> str:
    names = [_name(schema) for schema in _schemas(answer) if "$ref" in schema]
    shown.update(dict.fromkeys(names))
    links = " or ".join(f"[{name}](#{name.lower()}-object)" for name in names)
    return f" with {links}" if links else ""


def _schemas(content: dict[str, Any]) -> list[dict[str, Any]]:
    """What a body or an answer may be, by media type."""
    media = content.get("content", {}).values()
    found = [
        part for one in media for part in (one["schema"].get("oneOf") or one["schema"].get("anyOf") or [one["schema"]])
    ]
    return list({orjson.dumps(schema): schema for schema in found}.values())


def _referred(node: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """What `#/components/<kind>/<name>` stands for, or the node itself."""
    if "$ref" not in node:
        return node
    kind, name = node["$ref"].split("/")[-2:]
    found: dict[str, Any] = components[kind][name]
    return found


def _fields(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    whole = _resolved(schema, schemas)
    required = whole.get("required", ())
    rows = [
        (
            f"`{name}`",
            _kind(field) + (", required" if name in required else ""),
            cell(_about(field, schemas)),
        )
        for name, field in whole.get("properties", {}).items()
        if not field.get("deprecated")
    ]
    return table(("field", "type", ""), rows) if rows else ""


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = schemas[_name(schema)]
    if "allOf" in schema:
        merged: dict[str, Any] = {"properties": {}, "required": []}
        for part in (*schema["allOf"], {key: value for key, value in schema.items() if key != "allOf"}):
            whole = _resolved(part, schemas)
            merged["properties"] |= whole.get("properties", {})
            merged["required"] += whole.get("required", [])
        return merged
    return schema


def _about(field: dict[str, Any], schemas: dict[str, Any]) -> str:
    if text := field.get("description"):
        return str(text)
    if "$ref" in field:
        return str(schemas[_name(field)].get("description", ""))
    return ""


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return _name(schema)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_kind(part) for part in schema[key]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "const" in schema:
        return f"`{schema['const']}`"
    kinds = schema.get("type", "any")
    words = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    if "array" in words and "items" in schema:
        words[words.index("array")] = f"list of {_kind(schema['items'])}"
    bounds = [f"{schema[key]:,}" for key in ("minimum", "maximum") if key in schema]
    return " or ".join(words) + (f", {' to '.join(bounds)}" if len(bounds) == 2 else "")


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"].rsplit("/", 1)[1])
