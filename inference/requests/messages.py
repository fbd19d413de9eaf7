"""Checks the messages of a chat row and keeps the fields a model server is sent."""

from typing import Any

import orjson

from inference.catalogue.schema import Model
from inference.media.parts import ROW_PARTS, MediaPart, PartRules
from inference.refusals import expected, row_error
from inference.requests import call_ids, custom_tools
from inference.requests.content import read_parts

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_KEPT_STRINGS = ("name", "tool_call_id", "reasoning_content", "reasoning")
_PLAIN = {"role", "content"}
# A history often carries a call without arguments in one of these spellings; all of them mean "none".
_NO_ARGUMENTS = (None, "", "null")


def read_messages(
    value: object, *, model: Model, rules: PartRules = ROW_PARTS
) -> tuple[list[dict[str, Any]], tuple[MediaPart, ...]]:
    """The messages as they are sent on and the media they hold, in order; or a `RowError` naming the first fault.

    Kept per message: role, content, name, tool_calls, tool_call_id, and earlier thinking under both names that model
    servers read it by, reasoning_content and reasoning. Content is a string or a list of parts, where a part of its
    type alone marks the place of media; an assistant message that makes tool calls may have none.
    """
    if not isinstance(value, list):
        raise expected("an array of messages", value, "body.messages")
    if not value:
        raise row_error("empty", "body.messages")
    media: list[MediaPart] = []
    messages = [_message(message, index, model, media, rules) for index, message in enumerate(value)]
    return messages, tuple(media)


def forget_thinking(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, earlier thinking kept only since the last question: that of settled ones is no part of it."""
    asked = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=0)
    older = [
        {name: value for name, value in message.items() if name not in ("reasoning_content", "reasoning")}
        for message in messages[:asked]
    ]
    return older + messages[asked:]


def _message(message: object, index: int, model: Model, media: list[MediaPart], rules: PartRules) -> dict[str, Any]:
    at = f"body.messages[{index}]"
    if not isinstance(message, dict):
        raise row_error("wrong_type", at, expected="an object with role and content")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in ROLES:
        raise row_error("missing" if role is None else "invalid_role", f"{at}.role")
    if isinstance(content, list):
        content = read_parts(content, f"{at}.content", model, media, rules=rules)
    elif not isinstance(content, str) and not (content is None and role == "assistant" and message.get("tool_calls")):
        raise row_error("wrong_type", f"{at}.content", expected="a string or an array of content parts")
    if message.keys() == _PLAIN and isinstance(content, str):
        return message
    return {"role": role, "content": content, **_extras(message, at, role)}


def _extras(message: dict[str, Any], at: str, role: str) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    for key in _KEPT_STRINGS:
        if (text := message.get(key)) is None:
            continue
        if not isinstance(text, str):
            raise row_error("wrong_type", f"{at}.{key}", expected="a string")
        extras[key] = call_ids.own(text) if key == "tool_call_id" else text
    if thought := extras.get("reasoning_content") or extras.get("reasoning"):
        extras |= {"reasoning_content": thought, "reasoning": thought}
    # Servers and libraries write a list of none where no call was made.
    if role == "assistant" and message.get("tool_calls") not in (None, []):
        extras["tool_calls"] = _tool_calls(message["tool_calls"], f"{at}.tool_calls")
    return extras


def _tool_calls(calls: object, at: str) -> list[dict[str, Any]]:
    if not isinstance(calls, list):
        raise row_error("wrong_type", at, expected="an array of tool calls")
    return [_tool_call(call, f"{at}[{index}]") for index, call in enumerate(calls)]


def _tool_call(call: object, at: str) -> dict[str, Any]:
    if not isinstance(call, dict):
        raise row_error("wrong_type", at, expected="an object with id and function")
    function, call_id = call.get("function"), call.get("id")
    if call.get("type") == "custom":
        function = custom_tools.call_as_function(call.get("custom"), f"{at}.custom")
    if not isinstance(function, dict):
        raise row_error("wrong_type", f"{at}.function", expected="an object with a name")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise row_error("wrong_type", f"{at}.function.name", expected="a non-empty string")
    if call_id is not None and not isinstance(call_id, str):
        raise row_error("wrong_type", f"{at}.id", expected="a string")
    arguments = _arguments(function.get("arguments"), f"{at}.function.arguments")
    kept = {"id": call_ids.own(call_id)} if call_id is not None else {}
    return {**kept, "type": "function", "function": {"name": name, "arguments": arguments}}


def _arguments(value: object, at: str) -> str:
    if value in _NO_ARGUMENTS:
        return "{}"
    if isinstance(value, str):
        try:
            if isinstance(orjson.loads(value), dict):
                return value
        except orjson.JSONDecodeError:
            pass
    raise row_error("invalid_arguments", at)
