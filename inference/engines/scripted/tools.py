"""Which tools an answer calls, and with which arguments. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from inference.counting.words import count_words
from inference.engines.refusals import Refusal
from inference.engines.scripted.faults import Directives
from inference.engines.scripted.prose import digest
from inference.engines.scripted.schemas import Filler, Supply, Unfillable
from inference.engines.scripted.words import last_user_text, pieces


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; `arguments` is JSON text, possibly cut short."""

    id: str
    name: str
    arguments: str

    def as_dict(self) -> dict[str, Any]:
        """The call as a message carries it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one answer."""

    calls: tuple[Call, ...]
    tokens: int
    finish_reason: str


def choose(request: Mapping[str, Any], found: Directives, *, seed: Any, budget: int) -> Calls | None:
    """The calls an answer makes under `tool_choice`, cut to `budget` tokens; None when it answers in words."""
    functions = _functions(request)
    choice = request.get("tool_choice") or ("auto" if functions else "none")
    picked, named = _picked(request, functions, choice)
    if not picked:
        return None
    wanted = found.number("calls", len(picked))
    if request.get("parallel_tool_calls") is False:
        wanted = min(wanted, 1)
    supply = Supply(found.text)
    calls, tokens = [], 0
    for index in range(wanted):
        function = picked[index % len(picked)]
        arguments = _arguments(function, supply)
        tokens += count_words(function["name"])
        left = pieces(arguments)[: max(0, budget - tokens)]
        tokens += len(left)
        calls.append(Call(_call_id(request, seed, index), function["name"], "".join(left)))
        if "".join(left) != arguments:
            return Calls(tuple(calls), min(tokens, budget), "length")
    return Calls(tuple(calls), tokens, "stop" if named else "tool_calls")


def _functions(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    functions = []
    for tool in request.get("tools") or []:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise Refusal("Every tool needs a function with a name.", param="tools")
        functions.append(function)
    return functions


def _picked(
    request: Mapping[str, Any], functions: list[dict[str, Any]], choice: Any
) -> tuple[list[dict[str, Any]], bool]:
    if isinstance(choice, dict):
        name = (choice.get("function") or {}).get("name")
        picked = [function for function in functions if function["name"] == name]
        if not picked:
            raise Refusal(f"tool_choice names {name!r}, which is not among the tools.", param="tool_choice")
        return picked, True
    if choice == "none" or not functions:
        if choice == "required":
            raise Refusal("tool_choice is required but there are no tools.", param="tool_choice")
        return [], False
    if choice not in ("auto", "required"):
        raise Refusal("tool_choice must be none, auto, required or a function.", param="tool_choice")
    messages = request["messages"]
    words = set(re.findall(r"\w+", last_user_text(messages).lower()))
    mentioned = [function for function in functions if _mentioned(function["name"], words)]
    if choice == "auto":
        return ([] if messages[-1].get("role") == "tool" else mentioned), False
    return mentioned or functions[:1], False


def _mentioned(name: str, words: set[str]) -> bool:
    """Whether a prompt names a tool, whole or by a word of four letters or more of its name."""
    parts = re.split(r"[_\W]+", name.lower())
    return name.lower() in words or any(len(part) >= 4 and part in words for part in parts)


def _arguments(function: Mapping[str, Any], supply: Supply) -> str:
    schema = function.get("parameters") or {"type": "object"}
    try:
        return orjson.dumps(Filler(schema, supply, eager=True).fill(schema)).decode()
    except (Unfillable, TypeError, ValueError, AttributeError) as error:
        raise Refusal(f"The parameters of {function['name']} cannot be filled: {error}", param="tools") from error


def _call_id(request: Mapping[str, Any], seed: Any, index: int) -> str:
    return "call_" + digest(request["messages"], seed, index, size=12).hex()
