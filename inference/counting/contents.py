"""How messages are put to a chat template: some templates take strings, others lists of parts."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from jinja2 import Template

from inference.counting.template import render
from inference.media.parts import MEDIA_PARTS

Messages = list[dict[str, Any]]
Kind = Literal["text", "parts"]
_PROBE = "anex-probe"


def taken_by(template: Template, marks: dict[str, Any]) -> Callable[[Messages], Messages]:
    """What makes a row's messages ready for this template; found out by rendering a text both ways.

    A template that takes lists is given nothing else, as vLLM does: where its two branches differ (one may trim), the
    count is that of the branch the server takes.
    """
    parts = [{"type": "text", "text": _PROBE}]
    as_text, as_parts = _rendered(template, marks, _PROBE), _rendered(template, marks, parts)
    # A list that was printed rather than read shows the keys of its parts.
    printed = any(as_parts.count(key) > as_text.count(key) for key in ("'type'", '"type"'))
    return partial(prepare, kind="text" if printed or _PROBE not in as_parts else "parts")


def prepare(messages: Messages, *, kind: Kind) -> Messages:
    """The messages with contents the template takes and calls whose arguments it can walk; media only as their kind.

    Messages that need no change are passed on as they are.
    """
    return [
        message
        if kind == "text" and isinstance(message["content"], str) and "tool_calls" not in message
        else _prepare(message, kind)
        for message in messages
    ]


def _prepare(message: dict[str, Any], kind: Kind) -> dict[str, Any]:
    content = message["content"]
    prepared = message | {"content": _as_parts(content) if kind == "parts" else _as_text(content)}
    if calls := message.get("tool_calls"):
        prepared["tool_calls"] = [_call(call) for call in calls]
    return prepared


def _as_text(content: str | list[dict[str, Any]] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _as_parts(content: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    # A template writes a placeholder for a medium and never looks at its data.
    return [part if part["type"] == "text" else {"type": MEDIA_PARTS[part["type"]]} for part in content or []]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return call | {"function": function | {"arguments": json.loads(function["arguments"])}}


def _rendered(template: Template, marks: dict[str, Any], content: str | list[dict[str, Any]]) -> str:
    try:
        return render(template, [{"role": "user", "content": content}], marks)
    except Exception:  # It does not take such a content, in whatever way it says so.
        return ""
