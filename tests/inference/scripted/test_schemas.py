"""The smallest value that satisfies a JSON schema."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.engines.scripted.schemas import Filler, Supply, Unfillable

TREE = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"]}
PERSON = {
    "$defs": {"name": {"type": "string", "minLength": 3}},
    "type": "object",
    "properties": {"name": {"$ref": "#/$defs/name"}, "kind": {"enum": ["a", "b"]}, "v": {"const": 1}},
    "required": ["name", "kind", "v"],
}


def fill(schema, text="", **options):
    return Filler(schema, Supply(text), **options).fill(schema)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        TREE,
        PERSON,
        {"type": "array", "items": PERSON["$defs"]["name"], "minItems": 3},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        {"type": ["null", "string"]},
        {"type": "number", "minimum": 0.25, "maximum": 0.75},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "minimum": 7, "multipleOf": 5},
        {"type": "integer", "maximum": -3},
        {"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4},
        {"type": "string", "minLength": 9, "maxLength": 9},
        {"type": "string", "maxLength": 0},
        {"type": "string", "format": "date-time"},
        {"description": "a number", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"allOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "required": ["undeclared"]},
    ],
)
@pytest.mark.parametrize("text", ["", 'take 4 of "something" and 12 of "it"'])
def test_value_satisfies_its_schema(schema, text):
    value = fill(schema, text)
    assert jsonschema_rs.is_valid(schema, value, validate_formats=True), value


leaves = st.one_of(
    st.integers(-50, 50).flatmap(
        lambda low: st.integers(0, 40).map(lambda span: {"type": "integer", "minimum": low, "maximum": low + span})
    ),
    st.integers(0, 20).map(lambda least: {"type": "string", "minLength": least}),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"const": [1]}, {"enum": ["x", 2]}, {"type": "number"}]),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.integers(0, 3)).map(lambda p: {"type": "array", "items": p[0], "minItems": p[1]}),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
        st.dictionaries(st.sampled_from("abcd"), inner).map(
            lambda parts: {"type": "object", "properties": parts, "required": sorted(parts)[:2]}
        ),
    ),
    max_leaves=8,
)


@given(schemas, st.text(st.sampled_from("\"'abc 0123456789-"), max_size=40), st.booleans())
def test_any_value_satisfies_its_schema(schema, text, eager):
    assert jsonschema_rs.is_valid(schema, fill(schema, text, eager=eager))


def test_optional_properties_are_filled_only_while_the_prompt_has_values():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "string"}},
    }
    assert fill(schema, "'one' 2", eager=True) == {"a": "one", "n": 2}
    assert fill(schema, "'one' 2") == {}


def test_array_of_objects_grows_while_the_prompt_has_values():
    trips = {
        "$defs": {"trip": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}},
        "type": "array",
        "items": {"$ref": "#/$defs/trip"},
    }
    assert fill(trips, "'Rome' and 'Oslo'") == [{"to": "Rome"}, {"to": "Oslo"}]
    assert fill(trips | {"maxItems": 1}, "'Rome' and 'Oslo'") == [{"to": "Rome"}]
    assert fill(trips, "nowhere") == fill(trips, "3") == []
    optional = {"$defs": trips["$defs"], "type": "object", "properties": {"trips": trips}}
    assert (fill(optional, "'Rome'"), fill(optional)) == ({"trips": [{"to": "Rome"}]}, {})
    node = {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}}
    tree = {"type": "object", "properties": node, "required": ["name", "children"]}
    assert fill(tree, "'a' 'b'") == {"name": "a", "children": [{"name": "b", "children": []}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"self": {"$ref": "#"}}, "required": ["self"]},
        {"$ref": "#/nowhere"},
        {"$ref": "other.json"},
        {"type": "colour"},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"anyOf": [False]},
        "schema",
    ],
)
def test_unsatisfiable_schema_is_refused(schema):
    with pytest.raises(Unfillable):
        fill(schema)
