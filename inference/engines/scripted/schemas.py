"""The smallest value that satisfies a JSON schema, fed with strings and integers copied from the prompt. Pure."""

import math
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

QUOTED = re.compile(r'"([^"\n]{1,200})"|\'([^\'\n]{1,200})\'(?!\w)')
_INTEGER = re.compile(r"(?<![\w.])-?\d{1,15}(?![\w.]*\d)")
_FORMATS = {
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "date-time": "2026-01-02T03:04:05Z",
    "email": "someone@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/",
    "ipv4": "192.0.2.1",
}


class Unfillable(ValueError):
    """The schema cannot be satisfied by what this module knows; the message names why."""


class Supply:
    """Quoted strings and integers of a prompt, each handed out once, in order."""

    def __init__(self, text: str) -> None:
        quotes = QUOTED.findall(text)
        self.strings: deque[str] = deque(double or single for double, single in quotes)
        self.integers = deque(int(found) for found in _INTEGER.findall(QUOTED.sub(" ", text)))

    def __len__(self) -> int:
        return len(self.strings) + len(self.integers)


class Filler:
    """Fills the schemas of one request; `eager` also fills optional properties while the prompt has values left.

    An array of objects, optional or not, holds as many as the prompt has values for.
    """

    def __init__(self, root: Mapping[str, Any], supply: Supply, *, eager: bool = False) -> None:
        self._root = root
        self._supply = supply
        self._eager = eager

    def fill(self, schema: Any, path: frozenset[str] = frozenset()) -> Any:
        """A value for `schema`; `path` holds the references being followed. Raises Unfillable."""
        if schema is True or schema == {}:
            return {}
        if not isinstance(schema, Mapping):
            raise Unfillable("A schema is an object.")
        if "const" in schema or schema.get("enum"):
            return schema["const"] if "const" in schema else schema["enum"][0]
        if "$ref" in schema:
            return self._follow(schema, path)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self._branch(schema, word, path)
        return self.fill(_merged(schema), path) if "allOf" in schema else self._typed(schema, path)

    def _typed(self, schema: Mapping[str, Any], path: frozenset[str]) -> Any:
        kind = schema.get("type") or ("array" if "items" in schema else "object")
        if isinstance(kind, list):
            kind = next((name for name in kind if name != "null"), "null")
        if kind in ("boolean", "null"):
            return True if kind == "boolean" else None
        if kind in ("object", "array"):
            return self._object(schema, path) if kind == "object" else self._array(schema, path)
        plain = {"string": self._string, "integer": self._integer, "number": self._number}
        if kind not in plain:
            raise Unfillable(f"Unknown type {kind!r}.")
        return plain[kind](schema)

    def _follow(self, schema: Mapping[str, Any], path: frozenset[str]) -> Any:
        reference = str(schema["$ref"])
        if reference in path:
            raise Unfillable(f"{reference} needs itself.")
        return self.fill(self._target(reference), path | {reference})

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise Unfillable(f"{reference} is not a reference inside the schema.")
        target: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or name not in target:
                raise Unfillable(f"{reference} does not exist.")
            target = target[name]
        return target

    def _branch(self, schema: Mapping[str, Any], word: str, path: frozenset[str]) -> Any:
        rest = {name: value for name, value in schema.items() if name not in (word, "$defs", "definitions")}
        for branch in schema[word]:
            merged = _merged({"allOf": [branch], **rest}) if rest and isinstance(branch, Mapping) else branch
            try:
                return self.fill(merged, path)
            except Unfillable:
                continue
        raise Unfillable(f"No branch of {word} can be filled.")

    def _object(self, schema: Mapping[str, Any], path: frozenset[str]) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        value = {}
        for name in [*properties, *(name for name in required if name not in properties)]:
            part = properties.get(name, {"type": "string"})
            if name in required or self._supplied(part):
                value[name] = self.fill(part, path)
        return value

    def _supplied(self, schema: Any) -> bool:
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        if kind == "array":
            return bool(len(self._supply)) and self._are_objects(schema.get("items"))
        if not self._eager:
            return False
        return bool(self._supply.strings if kind == "string" else kind == "integer" and self._supply.integers)

    def _array(self, schema: Mapping[str, Any], path: frozenset[str]) -> list[Any]:
        first = schema.get("prefixItems") or []
        least = max(len(first), int(schema.get("minItems", 0)))
        if least > 1000:
            raise Unfillable("minItems is too large.")
        items = schema.get("items", {"type": "string"})
        values = [self.fill(first[index] if index < len(first) else items, path) for index in range(least)]
        if not schema.get("uniqueItems") and self._are_objects(items):
            most = int(schema.get("maxItems", least + len(self._supply)))
            values += self._further(items, most - least, path)
        return values

    def _are_objects(self, items: Any) -> bool:
        if isinstance(items, Mapping) and "$ref" in items:
            items = self._target(str(items["$ref"]))
        return isinstance(items, Mapping) and items.get("type") == "object"

    def _further(self, items: Any, most: int, path: frozenset[str]) -> list[Any]:
        """Objects of an array while each of them takes values from the prompt."""
        values: list[Any] = []
        while len(values) < most and (left := len(self._supply)):
            try:
                value = self.fill(items, path)
            except Unfillable:
                break
            if len(self._supply) == left:
                break
            values.append(value)
        return values

    def _string(self, schema: Mapping[str, Any]) -> str:
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 1 << 20))
        if known := _FORMATS.get(str(schema.get("format"))):
            return known
        if self._supply.strings and least <= len(self._supply.strings[0]) <= most:
            return self._supply.strings.popleft()
        return "text".ljust(least, "x")[: max(0, most)]

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low = schema.get("minimum", -math.inf)
        high = schema.get("maximum", math.inf)
        if isinstance(schema.get("exclusiveMinimum"), int | float):
            low = max(low, math.floor(schema["exclusiveMinimum"]) + 1)
        if isinstance(schema.get("exclusiveMaximum"), int | float):
            high = min(high, math.ceil(schema["exclusiveMaximum"]) - 1)
        step = int(schema.get("multipleOf", 1)) or 1
        if self._supply.integers and low <= self._supply.integers[0] <= high and not self._supply.integers[0] % step:
            return self._supply.integers.popleft()
        value = math.ceil(max(low, min(high, 0)) / step) * step if low <= high else math.inf
        if not low <= value <= high:
            raise Unfillable("No integer lies between the bounds.")
        return int(value)

    def _number(self, schema: Mapping[str, Any]) -> float:
        try:
            return self._integer(schema)
        except Unfillable:
            low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
            return float(low + schema.get("maximum", schema.get("exclusiveMaximum", low + 1))) / 2


def _merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of `allOf` laid over each other."""
    merged = {name: value for name, value in schema.items() if name != "allOf"}
    for part in schema["allOf"]:
        for name, value in part.items():
            if name == "properties":
                merged[name] = {**merged.get(name, {}), **value}
            elif name == "required":
                merged[name] = [*merged.get(name, []), *value]
            else:
                merged[name] = value
    return merged
