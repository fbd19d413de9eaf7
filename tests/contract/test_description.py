"""The API description beside reference 003: all it promises is there, with the same types; what is ours is extra.

A request may be looser here (null counts as left out, bounds may be wider); an answer may not.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from openapi_spec_validator import validate

from anex.docs import description
from tests.contract.reference import DOCUMENT, METHODS, OPERATIONS, SCHEMAS

LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
BOUNDS = (*LOWER, "maximum", "maxLength", "maxItems", "maxProperties")


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return dict(orjson.loads(description.as_json()))


def test_is_valid_openapi_3_1(ours: dict[str, Any]) -> None:
    assert ours["openapi"] == "3.1.0"
    validate(ours)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_operation_of_the_reference_is_there(method: str, path: str, ours: dict[str, Any]) -> None:
    wanted, given = DOCUMENT["paths"][path][method], ours["paths"][path][method]
    assert given["operationId"] == wanted["operationId"]
    assert given["tags"] == wanted["tags"]
    assert given.get("security") == wanted.get("security", [{"apiKey": []}])
    assert set(wanted["responses"]) <= set(given["responses"])
    for parameter in wanted.get("parameters", []):
        ours_of_it = next(
            p for p in given["parameters"] if (p["name"], p["in"]) == (parameter["name"], parameter["in"])
        )
        assert ours_of_it["required"] == parameter["required"]
        assert list(differences(parameter["schema"], ours_of_it["schema"], ours)) == []


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_body_is_the_one_the_reference_names(method: str, path: str, ours: dict[str, Any]) -> None:
    wanted, given = DOCUMENT["paths"][path][method], ours["paths"][path][method]
    assert named(wanted.get("requestBody", {}), DOCUMENT) == named(given.get("requestBody", {}), ours)
    assert wanted.get("requestBody", {}).get("required") == given.get("requestBody", {}).get("required")
    for status, response in wanted["responses"].items():
        assert named(response, DOCUMENT) <= named(given["responses"][status], ours), status
        assert set(response.get("headers", {})) <= set(given["responses"][status].get("headers", {})), status


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_of_the_reference_is_there(name: str, ours: dict[str, Any]) -> None:
    given = ours["components"]["schemas"][name]
    assert list(differences(SCHEMAS[name], given, ours, taken=name.endswith("Request"))) == []


def test_a_finished_input_copy_is_announced_as_the_reference_says(ours: dict[str, Any]) -> None:
    callback = ours["paths"]["/inputs"]["post"]["callbacks"]["inputEvent"]
    assert named(callback["{$request.body#/callback_url}"]["post"]["requestBody"], ours) == {"InputCallback"}


def test_every_operation_says_what_it_may_answer(ours: dict[str, Any]) -> None:
    for path, item in ours["paths"].items():
        for method in set(METHODS) & set(item):
            declared = set(item[method]["responses"])
            expected = {"401", "403", "405", "422", "429", "503"} if item[method]["tags"] != ["realtime"] else set()
            expected |= {"404"} if "{id}" in path else set()
            expected |= {"413", "415"} if "requestBody" in item[method] else set()
            assert expected <= declared, f"{method} {path}"


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
