"""The API description beside reference 003: all it promises is there, with the same types; what is ours is extra."""

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from openapi_spec_validator import validate

from anex.docs import description
from tests.contract.promises import broken, broken_by_operation, broken_by_schema, named
from tests.contract.reference import DOCUMENT, METHODS, OPERATIONS, SCHEMAS

EVERY_CALL = frozenset({"401", "403", "405", "422", "429", "503"})


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return dict(orjson.loads(description.as_json()))


def test_is_valid_openapi_3_1(ours: dict[str, Any]) -> None:
    assert ours["openapi"] == "3.1.0"
    validate(ours)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_operation_of_the_reference_is_there(method: str, path: str, ours: dict[str, Any]) -> None:
    assert list(broken_by_operation(method, path, ours)) == []


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_of_the_reference_is_there(name: str, ours: dict[str, Any]) -> None:
    assert list(broken_by_schema(name, ours)) == []


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in the reference something is said of a type, values, a field, a status, a body or a parameter."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if key in ("callbacks", "securitySchemes"):
                continue
            yield (*at, key)
            yield from places(value, (*at, key))


@pytest.mark.parametrize("kind", ["type", "enum", "properties", "responses", "parameters", "content", "operationId"])
def test_whatever_of_it_is_left_out_is_noticed(kind: str, ours: dict[str, Any]) -> None:
    left_out = [at for at in places(DOCUMENT) if at[-1] == kind or (len(at) > 1 and at[-2] == kind)]
    unnoticed = []
    for at in left_out:
        without = leave_out(ours, at)
        if without and next(broken(without), None) is None:
            unnoticed.append(at)
    assert left_out
    assert unnoticed == []


def leave_out(ours: dict[str, Any], at: tuple[Any, ...]) -> dict[str, Any] | None:
    """The description without what is at a place; None where ours says it in another place, behind a reference."""
    changed = node = copy.copy(ours)
    try:
        for key in at[:-1]:
            # All the rest is shared: to copy it each time costs more than the comparison.
            node[key] = copy.copy(node[key])
            node = node[key]
        del node[at[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return changed


def test_a_finished_input_copy_is_announced_as_the_reference_says(ours: dict[str, Any]) -> None:
    callback = ours["paths"]["/inputs"]["post"]["callbacks"]["inputEvent"]
    assert named(callback["{$request.body#/callback_url}"]["post"]["requestBody"], ours) == {"InputCallback"}


def test_every_operation_says_what_it_may_answer(ours: dict[str, Any]) -> None:
    for path, item in ours["paths"].items():
        for method in set(METHODS) & set(item):
            declared = set(item[method]["responses"])
            expected = frozenset({"405", "429"}) if item[method].get("security") == [] else EVERY_CALL
            expected |= {"404"} if "{" in path else set()
            expected |= {"413", "415"} if "requestBody" in item[method] else set()
            # Nothing of it is misshapen in a way of its own, and a missing header is 401.
            expected -= {"422"} if item[method]["tags"] in (["files"], ["batches"], ["account"]) else set()
            assert expected <= declared, f"{method} {path}"
            refusals = {"OpenAIError"} if path.startswith(("/v1/", "/openai/")) else {"Error", "RateLimitError"}
            assert named(item[method]["responses"]["429"], ours) == refusals, f"{method} {path}"
