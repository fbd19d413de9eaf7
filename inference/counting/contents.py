"""How messages are put to a chat template: some take strings, some lists of parts, most of today's take either."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from jinja2 import Template

from inference.counting.template import render
from inference.media.parts import MEDIA_PARTS

Messages = list[dict[str, Any]]
Kind = Literal["text", "parts", "either"]
_PROBE = "anex-probe"


def taken_by(template: Template, marks: dict[str, Any]) -> Callable[[Messages], Messages]:
    """What makes a row's messages ready for this template, as vLLM does; found out by rendering a text both ways."""
    parts = [{"type": "text", "text": _PROBE}]
    as_text, as_parts = _rendered(template, marks, _PROBE), _rendered(template, marks, parts)
    # A list that was printed rather than read shows the keys of its parts.
    printed = any(as_parts.count(key) > as_text.count(key) for key in ("'type'", '"type"'))
    if printed or _PROBE not in as_parts:
        return partial(prepare, kind="text")
    return partial(prepare, kind="either" if _PROBE in as_text else "parts")


def prepare(messages: Messages, *, kind: Kind) -> Messages:
    """The messages with contents the template takes and calls whose arguments it can walk; media only as their kind.

    Messages that need no change are passed on as they are.
    """
    return [
        message
        if kind != "parts" and isinstance(message["content"], str) and "tool_calls" not in message
        else _prepare(message, kind)
        for message in messages
    ]


def _prepare(message: dict[str, Any], kind: Kind) -> dict[str, Any]:
    prepared = message | {"content": _content(message["content"], kind)}
    if calls := message.get("tool_calls"):
        prepared["tool_calls"] = [_call(call) for call in calls]
    return prepared


def _content(content: str | list[dict[str, Any]] | None, kind: Kind) -> str | list[dict[str, Any]]:
    if kind == "parts":
        return _shown(content) if isinstance(content, list) else _shown([{"type": "text", "text": content or ""}])
    if not isinstance(content, list):
        return content or ""
    if kind == "either":
        return _shown(content)
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _shown(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    # A template writes a placeholder for a medium and never looks at its data.
    return [part if part["type"] == "text" else {"type": MEDIA_PARTS[part["type"]]} for part in parts]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return call | {"function": function | {"arguments": json.loads(function["arguments"])}}


def _rendered(template: Template, marks: dict[str, Any], content: str | list[dict[str, Any]]) -> str:
    try:
        return render(template, [{"role": "user", "content": content}], marks)
    except Exception:  # It does not take such a content, in whatever way it says so.
        return ""
