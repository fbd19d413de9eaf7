"""Responses requests as chats (reference 004, the Responses API). Pure.

Nothing is stored, so what names a stored thing is refused.
"""

from typing import Any, Final

from inference.refusals import row_error
from inference.requests.response_items import Conversation
from inference.requests.translation import Translated, shared

_STORED: Final = ("previous_response_id", "conversation", "prompt")
_OWN: Final = frozenset(
    {"input", "instructions", "background", "include", "max_output_tokens", "max_tool_calls", "reasoning", "text"}
    | {"tools", "tool_choice", "top_logprobs", "truncation", *_STORED}
)
_SUMMARIES: Final = ("summary", "generate_summary")
_LOGPROBS: Final = "message.output_text.logprobs"
_NAMES: Final = {
    "max_tokens": "max_output_tokens",
    "logprobs": "include",
    "response_format": "text.format",
    "response_format.json_schema": "text.format",
    "verbosity": "text.verbosity",
    "tool_choice.function": "tool_choice",
    "tool_choice.custom": "tool_choice",
}


# What a response says of its request.
Echo = dict[str, Any]


def translate(body: dict[str, Any], *, refuses_unknown: bool) -> Translated[Echo]:
    """The chat a body stands for, or a `RowError`."""
    for name in _STORED:
        if body.get(name) is not None:
            raise row_error("stored", f"body.{name}")
    if body.get("background"):
        raise row_error("in_background", "body.background")
    talk = Conversation()
    if body.get("instructions") is not None:
        talk.instruct(body["instructions"])
    talk.ask(body.get("input"))
    chat, ignored = shared(body, own=_OWN, refuses_unknown=refuses_unknown)
    chat |= {"messages": talk.messages, "max_tokens": body.get("max_output_tokens")}
    if body.get("truncation") != "disabled":
        chat["truncation"] = body.get("truncation")
    chat |= _tools(body, talk.names) | _text(body.get("text")) | _reasoning(body.get("reasoning")) | _logprobs(body)
    return Translated(chat, _told(body), talk.names | _NAMES, ignored)


def _tools(body: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Tools and which of them may be called, as a chat spells them; hosted ones stay as they are, to be refused."""
    chat: dict[str, Any] = {}
    tools, choice = body.get("tools"), body.get("tool_choice")
    if isinstance(tools, list):
        chat["tools"] = [_nested(tool) for tool in tools]
        for place in range(len(tools)):
            names |= {f"tools[{place}].{kind}": f"tools[{place}]" for kind in ("function", "custom")}
    elif tools is not None:
        chat["tools"] = tools
    if choice is not None:
        named = isinstance(choice, dict) and choice.get("type") in ("function", "custom") and "name" in choice
        chat["tool_choice"] = {"type": choice["type"], choice["type"]: {"name": choice["name"]}} if named else choice
    return chat


def _nested(tool: object) -> object:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if kind not in ("function", "custom") or not isinstance(tool, dict) or kind in tool:
        return tool
    return {"type": kind, kind: {name: value for name, value in tool.items() if name != "type"}}


def _text(text: object) -> dict[str, Any]:
    """The form of the answer; how wordy it is to be is a parameter that no model here has."""
    if text is None:
        return {}
    if not isinstance(text, dict):
        raise row_error("wrong_type", "body.text", expected="an object")
    chat: dict[str, Any] = {}
    form, verbosity = text.get("format"), text.get("verbosity")
    if isinstance(form, dict) and form.get("type") == "json_schema" and "json_schema" not in form:
        schema = {name: value for name, value in form.items() if name != "type"}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form is not None:
        chat["response_format"] = form
    return chat if verbosity in (None, "medium") else chat | {"verbosity": verbosity}


def _reasoning(reasoning: object) -> dict[str, Any]:
    """What a chat's `reasoning` takes. Thinking is told whole, whatever summary is asked."""
    if reasoning is None:
        return {}
    if not isinstance(reasoning, dict):
        raise row_error("wrong_type", "body.reasoning", expected="an object")
    asked = {name: value for name, value in reasoning.items() if name not in _SUMMARIES and value is not None}
    return {"reasoning": asked} if asked else {}


def _logprobs(body: dict[str, Any]) -> dict[str, Any]:
    include, most = body.get("include"), body.get("top_logprobs")
    if include is not None and not (isinstance(include, list) and all(isinstance(word, str) for word in include)):
        raise row_error("wrong_type", "body.include", expected="an array of strings")
    if _LOGPROBS not in (include or ()) and (most is None or (type(most) is int and most == 0)):
        return {}
    return {"logprobs": True, "top_logprobs": most}


def _told(body: dict[str, Any]) -> Echo:
    """The settings as they were sent, null for what was not and has no value of its own."""
    reasoning, text = body.get("reasoning") or {}, body.get("text") or {}
    return {
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "metadata": body.get("metadata") or {},
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": None,
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": "default",
        "store": False,
        "temperature": body.get("temperature"),
        "text": {"format": text.get("format") or {"type": "text"}, "verbosity": text.get("verbosity") or "medium"},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_logprobs": body.get("top_logprobs") or 0,
        "top_p": body.get("top_p"),
        "truncation": "disabled",
        "user": body.get("user"),
    }
