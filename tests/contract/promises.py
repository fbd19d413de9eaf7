"""What an API description lacks of what reference 003 promises; nothing where it keeps everything.

A request may be looser than the reference (null counts as left out, bounds may be wider); an answer may not.
"""

from collections.abc import Iterator
from typing import Any

from tests.contract.reference import DOCUMENT, OPERATIONS, SCHEMAS

LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
BOUNDS = (*LOWER, "maximum", "maxLength", "maxItems", "maxProperties")


def broken(ours: dict[str, Any]) -> Iterator[str]:
    """Everything at once."""
    for method, path in OPERATIONS:
        yield from broken_by_operation(method, path, ours)
    for name in SCHEMAS:
        yield from broken_by_schema(name, ours)


def broken_by_operation(method: str, path: str, ours: dict[str, Any]) -> Iterator[str]:
    """Of an operation: its names, who may call, parameters, bodies, statuses and their headers."""
    wanted, given = DOCUMENT["paths"][path][method], ours["paths"].get(path, {}).get(method)
    if given is None:
        yield f"{method} {path} is missing"
        return
    security = wanted.get("security", [{"apiKey": []}])
    yield from (name for name in ("operationId", "tags") if given.get(name) != wanted[name])
    yield from () if given.get("security") == security else ("security",)
    for parameter in wanted.get("parameters", []):
        yield from _broken_by_parameter(parameter, given.get("parameters", []), ours)
    asked, taken = wanted.get("requestBody", {}), given.get("requestBody", {})
    if (named(asked, DOCUMENT), asked.get("required")) != (named(taken, ours), taken.get("required")):
        yield f"{path}: takes another body"
    for status, response in wanted["responses"].items():
        answer = given.get("responses", {}).get(status, {})
        if not answer or not named(response, DOCUMENT) <= named(answer, ours):
            yield f"{path}: {status} answers another body"
        for name, header in response.get("headers", {}).items():
            if answer.get("headers", {}).get(name, {}).get("schema") != header["schema"]:
                yield f"{path}: {status} lacks the header {name}"


def broken_by_schema(name: str, ours: dict[str, Any]) -> Iterator[str]:
    """Of a component, however deep."""
    given = ours["components"]["schemas"].get(name, {})
    return differences(SCHEMAS[name], given, ours, name, taken=name.endswith("Request"))


def _broken_by_parameter(wanted: dict[str, Any], given: list[dict[str, Any]], ours: dict[str, Any]) -> Iterator[str]:
    own = next((p for p in given if (p["name"], p["in"]) == (wanted["name"], wanted["in"])), None)
    if own is None or own.get("required") != wanted["required"]:
        yield f"parameter {wanted['name']} is missing or not required as it was"
    else:
        yield from differences(wanted["schema"], own["schema"], ours, wanted["name"])


def named(holder: dict[str, Any], document: dict[str, Any]) -> set[str]:
    """The components that a request or response body may be."""
    content = holder.get("content", {})
    assert set(content) <= {"application/json"}
    schema = content.get("application/json", {}).get("schema", {})
    return {ref.rpartition("/")[2] for ref in refs(schema, document)}


def refs(schema: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        target = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if "anyOf" in target:
            yield from refs(target, document)
        else:
            yield schema["$ref"]
    for choice in (*schema.get("oneOf", []), *schema.get("anyOf", [])):
        yield from refs(choice, document)


def differences(
    wanted: dict[str, Any], given: dict[str, Any], document: dict[str, Any], at: str = "", *, taken: bool = False
) -> Iterator[str]:
    """What the reference promises of a schema and ours does not keep; what is `taken` may be looser, null besides."""
    wanted, given = resolved(wanted, DOCUMENT), resolved(given, document)
    yield from (f"{at}: {problem}" for problem in own_differences(wanted, given, taken=taken))
    for name, schema in wanted.get("properties", {}).items():
        if name not in given.get("properties", {}):
            yield f"{at}.{name}: is missing"
        else:
            yield from differences(schema, given["properties"][name], document, f"{at}.{name}", taken=taken)
    for inner in ("items", "additionalProperties"):
        if isinstance(wanted.get(inner), dict):
            yield from differences(wanted[inner], given.get(inner) or {}, document, f"{at}.{inner}", taken=taken)
    for choice in wanted.get("oneOf", []):
        twin = next((other for other in given.get("oneOf", []) if types(other) == types(choice)), {})
        yield from differences(choice, twin, document, f"{at}.{sorted(types(choice))}", taken=taken)


def own_differences(wanted: dict[str, Any], given: dict[str, Any], *, taken: bool) -> Iterator[str]:
    """What a schema says of itself, without what is inside it."""
    more = types(given) - types(wanted) - ({"null"} if taken else set())
    if types(wanted) and (more or types(wanted) - types(given)):
        yield f"{sorted(types(given))}, not {sorted(types(wanted))}"
    if values(wanted) and not values(wanted) <= values(given):
        yield f"lacks the values {values(wanted) - values(given)}"
    if "string" in types(wanted) and wanted.get("format") != given.get("format"):
        yield f"format {given.get('format')}, not {wanted.get('format')}"
    if wanted.get("deprecated", False) and not given.get("deprecated", False):
        yield "is not marked as deprecated"
    yield from (f"{bound} differs" for bound in BOUNDS if not is_kept(bound, wanted, given, taken=taken))
    required = set(given.get("required", [])) & set(wanted.get("properties", {}))
    if required != set(wanted.get("required", [])):
        yield f"requires {sorted(required)}"


def is_kept(bound: str, wanted: dict[str, Any], given: dict[str, Any], *, taken: bool) -> bool:
    """Whether a bound is the reference's; a lower one of what is taken may be lower, what is answered may be closer."""
    if taken and bound in LOWER:
        return bool(given.get(bound, 0) <= wanted.get(bound, 0))
    return given.get(bound) == wanted.get(bound) or (bound not in wanted and not taken)


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The schema without references; drf-spectacular wraps one in allOf where it adds a description."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if len(schema.get("allOf", [])) == 1:
        return resolved(schema["allOf"][0], document)
    return schema


def types(schema: dict[str, Any]) -> set[str]:
    found = schema.get("type", [])
    own = {found} if isinstance(found, str) else set(found)
    return own.union(*(types(choice) for choice in schema.get("oneOf", [])))


def values(schema: dict[str, Any]) -> set[Any]:
    return set(schema.get("enum", [])) | ({schema["const"]} if "const" in schema else set())
