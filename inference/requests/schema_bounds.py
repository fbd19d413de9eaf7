"""Bounds of schemas that a model server compiles into a grammar, which it shares with others (reference 004). Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from inference.refusals import row_error

MOST_BYTES: Final = 16_384
MOST_BYTES_IN_ALL: Final = 65_536
MOST_LEVELS: Final = 32
MOST_COUNT: Final = 1_024
_PATTERNS: Final = ("pattern", "patternProperties")
_COUNTS: Final = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties", "Contains")
)
# Under these stand schemas by names that the sender chose; under those, values.
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples", "example", "required"})


def check_bounds(schemas: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Raise `RowError` for the first schema, named by its path, that is out of bounds, or for all of them together."""
    total = 0
    for at, schema in schemas:
        if _levels(schema) > MOST_LEVELS:
            raise row_error("schema_too_deep", at, most=MOST_LEVELS)
        size = len(orjson.dumps(schema))
        total += size
        if size > MOST_BYTES or total > MOST_BYTES_IN_ALL:
            raise row_error("schema_too_large", at, most=f"{MOST_BYTES:,}", in_all=f"{MOST_BYTES_IN_ALL:,}")
        _check_keywords(schema, at)


def _levels(schema: object) -> int:
    """How deep it nests, counted no further than matters."""
    level, inner = 0, [schema]
    while inner and level <= MOST_LEVELS:
        inner = [value for each in inner for value in _values(each)]
        level += bool(inner)
    return level + 1


def _values(value: object) -> Iterator[Any]:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (member for member in members if isinstance(member, dict | list))


def _check_keywords(schema: dict[str, Any], at: str) -> None:
    left: list[Any] = [schema]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left += each
        if not isinstance(each, dict):
            continue
        for keyword, value in each.items():
            if keyword in _PATTERNS:
                raise row_error("schema_pattern", at, keyword=keyword)
            if keyword in _COUNTS and type(value) in (int, float) and value > MOST_COUNT:
                raise row_error("schema_count", at, keyword=keyword, most=f"{MOST_COUNT:,}")
            if keyword in _BY_NAME and isinstance(value, dict):
                left += value.values()
            elif keyword not in _VALUES:
                left.append(value)
