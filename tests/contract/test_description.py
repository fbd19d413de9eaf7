"""The API description beside reference 003: all it promises is there, with the same types; what is ours is extra.

A request may be looser here (null counts as left out, bounds may be wider); an answer may not.
"""

from collections.abc import Iterator, Set
from typing import Any

import orjson
import pytest
from openapi_spec_validator import validate

from anex.docs import description
from tests.contract.reference import DOCUMENT, METHODS, OPERATIONS, SCHEMAS

# A number may be bounded more widely by us, never more narrowly.
LOWER, UPPER = ("minimum", "exclusiveMinimum", "minItems", "minProperties"), ("maximum", "maxItems", "maxProperties")


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
    for status, response in wanted["responses"].items():
        assert named(response, DOCUMENT) <= named(given["responses"][status], ours), status
        assert set(response.get("headers", {})) <= set(given["responses"][status].get("headers", {})), status


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_of_the_reference_is_there(name: str, ours: dict[str, Any]) -> None:
    given = ours["components"]["schemas"][name]
    assert list(differences(SCHEMAS[name], given, ours, looser={"null"} if name.endswith("Request") else set())) == []


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
    wanted: dict[str, Any],
    given: dict[str, Any],
    document: dict[str, Any],
    at: str = "",
    looser: Set[str] = frozenset(),
) -> Iterator[str]:
    """What the reference promises of a schema and ours does not keep; `looser` types may be taken besides."""
    wanted, given = resolved(wanted, DOCUMENT), resolved(given, document)
    if types(wanted) and types(wanted) | looser != types(given) | looser:
        yield f"{at}: {sorted(types(given))}, not {sorted(types(wanted))}"
    if values(wanted) and not values(wanted) <= values(given):
        yield f"{at}: lacks the values {values(wanted) - values(given)}"
    if "format" in wanted and wanted["format"] != given.get("format"):
        yield f"{at}: format {given.get('format')}, not {wanted['format']}"
    if wanted.get("deprecated", False) and not given.get("deprecated", False):
        yield f"{at}: is not marked as deprecated"
    yield from (f"{at}: {bound} {given.get(bound)}" for bound in LOWER if given.get(bound, 0) > wanted.get(bound, 0))
    yield from (
        f"{at}: {b} {given.get(b)}, not {wanted[b]}" for b in UPPER if b in wanted and given.get(b) != wanted[b]
    )
    missing = set(wanted.get("required", [])) ^ set(given.get("required", [])) & set(wanted.get("properties", {}))
    if missing:
        yield f"{at}: required differs by {sorted(missing)}"
    for name, schema in wanted.get("properties", {}).items():
        if name not in given.get("properties", {}):
            yield f"{at}.{name}: is missing"
        else:
            yield from differences(schema, given["properties"][name], document, f"{at}.{name}", looser)
    for inner in ("items", "additionalProperties"):
        if isinstance(wanted.get(inner), dict) and wanted[inner]:
            yield from differences(wanted[inner], given.get(inner) or {}, document, f"{at}.{inner}", looser)


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
