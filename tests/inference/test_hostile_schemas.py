"""Schemas written to hurt: whatever they cost, they cost it in a process that can be lost."""

from typing import Any

import orjson
import pytest

from anex.core.errors import InvalidRequest
from inference.requests.response_format import check_response_format
from inference.requests.schema_process import answer_fault

DOUBLING = {
    "$ref": "#/$defs/d0",
    "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(60)}
    | {"d60": {"type": "object"}},
}
ANY_OBJECT = b'{"type": "object"}'


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def check(schema: Any, **rest: Any) -> None:
    check_response_format({"type": "json_schema", "json_schema": {"schema": schema}} | rest)


def test_a_schema_that_takes_hours_to_compile_is_refused():
    patterns = {f"k{n}": {"pattern": rf"\p{{L}}{{100}}{n}"} for n in range(3000)}
    with pytest.raises(InvalidRequest, match="takes too long"):
        check({"properties": patterns})
    check({"type": "object"})


def test_an_answer_that_takes_hours_to_check_breaks_the_format():
    assert "takes too long" in (answer_fault(orjson.dumps(DOUBLING), b"{}") or "")
    assert answer_fault(ANY_OBJECT, b"{}") is None


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"", "not valid JSON"),
        (b"[]", "does not match"),
        (b"\xff", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'"\x00"', "not valid JSON"),
        (b'{"a":NaN}', "not valid JSON"),
    ],
)
def test_what_is_wrong_with_an_answer(answer, fault):
    assert fault in (answer_fault(ANY_OBJECT, answer) or "")


@pytest.mark.parametrize(
    "value",
    [nested(300), 10**30, "\ud800", {"\ud800": 1}, -(2**70)],
    ids=["deep", "big", "broken text", "broken key", "small"],
)
@pytest.mark.parametrize("kind", ["text", "json_object", "json_schema"])
def test_a_format_that_no_row_could_carry_is_refused(kind, value):
    wanted = {"type": kind, "json_schema": {"schema": {}, "note": value}}
    with pytest.raises(InvalidRequest, match="must not nest too deeply"):
        check_response_format(wanted)


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/x", "file:///etc/passwd", "y"])
def test_nothing_outside_a_schema_is_fetched(reference):
    with pytest.raises(InvalidRequest, match="not a valid JSON Schema"):
        check({"properties": {"a": {"$ref": reference}}, "$id": "http://127.0.0.1:9/here"})


def test_sentences_say_where_a_schema_or_an_answer_is_wrong():
    with pytest.raises(InvalidRequest, match=r"\(at properties\.a\.type\)$"):
        check({"properties": {"a": {"type": "objekt"}}})
    schema = b'{"properties":{"a":{"items":{"maxLength":2}}}}'
    assert (answer_fault(schema, b'{"a":["xxxx"]}') or "").endswith("(at a.0)")
