"""A result line as people read it: what names the row, how it ended, and the first words of its answer. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import orjson

State = Literal["answered", "cut off", "refused", "failed"]

PREVIEW_CHARACTERS: Final = 300
WHOLE_CHARACTERS: Final = 64 * 1024
_FIRST_NUMBERS: Final = 4
# Values of what is indented: those that nest deeply become hundreds of times their size.
_MOST_INDENTED: Final = 50_000


class _Line(msgspec.Struct):
    custom_id: str
    response: dict[str, Any] | None
    error: str | None
    error_type: str | None


_decode: Final = msgspec.json.Decoder(_Line).decode


@dataclass(frozen=True, slots=True)
class Row:
    """A finished row; `number` counts from 0. `text` is the answer, or why there is none; `kind` the error's code."""

    number: int
    custom_id: str
    state: State
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was cut off at WHOLE_CHARACTERS where it `goes_on`."""

    shown: str
    goes_on: bool = False


def row(number: int, line: bytes, *, characters: int = PREVIEW_CHARACTERS) -> Row:
    """A result line in at most so many characters."""
    found = _decode(line)
    body = _body(found)
    if found.error is None:
        return Row(number, found.custom_id, "cut off" if _is_cut(body) else "answered", _cut(_words(body), characters))
    state: State = "refused" if body is not None or found.error_type == "response_format_unmet" else "failed"
    return Row(number, found.custom_id, state, _cut(found.error, characters), found.error_type or "")


def answer(line: bytes) -> str:
    """All an answer says; nothing where there is none."""
    body = _body(_decode(line))
    return "" if body is None else _words(body)


def is_about(line: bytes, *, custom_id: str) -> bool:
    """Whether a row's custom_id begins so. A line that cannot be meant is never parsed."""
    begun = orjson.dumps(custom_id)[1:-1]
    return begun in line and _decode(line).custom_id.startswith(custom_id)


def pretty(line: bytes) -> Text:
    """JSON with indents; what is no JSON, or of very many values, as it is."""
    try:
        if sum(map(line.count, (b",", b":", b"[", b"{"))) <= _MOST_INDENTED:
            return cut(orjson.dumps(orjson.loads(line), option=orjson.OPT_INDENT_2).decode())
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    # A character has at most four bytes.
    return cut(line[: 4 * (WHOLE_CHARACTERS + 1)].decode(errors="replace"))


def cut(text: str) -> Text:
    """A text of at most WHOLE_CHARACTERS."""
    return Text(text[:WHOLE_CHARACTERS], len(text) > WHOLE_CHARACTERS)


def _body(line: _Line) -> dict[str, Any] | None:
    body = (line.response or {}).get("body")
    return body if isinstance(body, dict) else None


def _is_cut(body: dict[str, Any] | None) -> bool:
    return any(choice.get("finish_reason") == "length" for choice in _items(body, "choices"))


def _words(body: dict[str, Any] | None) -> str:
    for choice in _items(body, "choices"):
        return _message(choice.get("message"))
    for entry in _items(body, "data"):
        return _vector(entry.get("embedding"))
    answers = (body or {}).get("answers")
    if isinstance(answers, dict):
        return "; ".join(f"{name}: {_decision(found)}" for name, found in answers.items())
    return _json(body)


def _message(message: object) -> str:
    said = message if isinstance(message, dict) else {}
    content, calls = said.get("content"), said.get("tool_calls")
    if isinstance(content, str) and content:
        return content
    return _json(calls) if calls else _json(content) if content else ""


def _vector(vector: object) -> str:
    if not isinstance(vector, list) or not all(map(_is_number, vector[:_FIRST_NUMBERS])):
        return vector if isinstance(vector, str) else _json(vector)
    first = ", ".join(f"{number:.4f}" for number in vector[:_FIRST_NUMBERS])
    return f"{len(vector):,} numbers: {first}{', …' if len(vector) > _FIRST_NUMBERS else ''}"


def _decision(found: object) -> str:
    match found:
        case {"type": "noul", "noul": float() | int() as yes}:
            return f"{'yes' if yes >= 0.5 else 'no'} ({max(yes, 1 - yes):.0%})"
        case {"type": "choice", "choice": str() as chosen, "answer_confidence": float() | int() as sure}:
            return f"{chosen} ({sure:.0%})"
        case {"type": "score", "score": float() | int() as score}:
            return f"{score:.2f}"
        case _:
            return _json(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _items(body: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    found = (body or {}).get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _json(value: object) -> str:
    """Whole numbers of any size included."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
