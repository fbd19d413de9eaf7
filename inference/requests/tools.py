"""Tools and `tool_choice`: read, checked against each other, and as a model server is sent them (reference 000)."""

from typing import Any, Final, Literal

from msgspec import Struct

from inference.catalogue.schema import Model
from inference.refusals import row_error

Messages = list[dict[str, Any]]

# Put at the top of the system prompt where tools stay in it and none may be called.
PLAIN_TEXT: Final = (
    "Answer this turn in plain text. Do not call any tool or function, not even one that is listed here; "
    "results of earlier calls in this conversation may be used."
)
_WORDS: Final = ("auto", "required", "none")
_FUNCTION_FIELDS: Final = ("description", "parameters", "strict")


class ToolUse(Struct, frozen=True, kw_only=True):
    """The tools as they are sent on, and which may be called: `named` asks for the function `name`.

    `one_call` keeps an answer to one call. `choice` is `auto` where nothing was said.
    """

    tools: list[dict[str, Any]] = []
    choice: Literal["auto", "required", "none", "named"] = "auto"
    name: str | None = None
    one_call: bool = False

    @property
    def forces(self) -> bool:
        """Whether the answer has to be a call."""
        return self.choice in ("required", "named")

    @property
    def forced(self) -> list[dict[str, Any]]:
        """The functions of which one has to be called."""
        functions = [tool["function"] for tool in self.tools]
        return [each for each in functions if self.name in (None, each["name"])] if self.forces else []


NO_TOOLS: Final = ToolUse()


def read_tools(body: dict[str, Any]) -> ToolUse:
    """What a body says of tools, or a `RowError`."""
    tools, choice, parallel = body.get("tools"), body.get("tool_choice"), body.get("parallel_tool_calls")
    if tools is None and choice is None and parallel is None:
        return NO_TOOLS
    if parallel is not None and not isinstance(parallel, bool):
        raise row_error("wrong_type", "body.parallel_tool_calls", expected="true or false")
    if tools is not None and not isinstance(tools, list):
        raise row_error("wrong_type", "body.tools", expected="an array of tools")
    known = [_tool(tool, f"body.tools[{index}]") for index, tool in enumerate(tools or ())]
    one_call = parallel is False
    if choice is None or isinstance(choice, str):
        use = ToolUse(tools=known, choice=_word(choice, known), one_call=one_call)  # type: ignore[arg-type]
    else:
        use = ToolUse(tools=known, choice="named", name=_named(choice, known), one_call=one_call)
    for function in use.forced:
        # vLLM keeps the arguments of a forced call to their schema where it is told to, as they have to be.
        function.setdefault("strict", True)
    return use


def upstream_tools(use: ToolUse, messages: Messages, model: Model) -> dict[str, Any]:
    """The fields of tools for a model server; under `none` there are some only where the model keeps called ones."""
    if not use.tools or (use.choice == "none" and not keeps_tools(use, messages, model)):
        return {}
    choice: Any = {"type": "function", "function": {"name": use.name}} if use.choice == "named" else use.choice
    sent: dict[str, Any] = {"tools": use.tools, "tool_choice": choice}
    return sent | {"parallel_tool_calls": False} if use.one_call else sent


def keeps_tools(use: ToolUse, messages: Messages, model: Model) -> bool:
    """Whether tools stay in the prompt though none may be called."""
    if use.choice != "none" or not use.tools or model.realtime is None or not model.realtime.keeps_called_tools:
        return False
    return any(message["role"] == "tool" or "tool_calls" in message for message in messages)


def in_plain_text(messages: Messages) -> Messages:
    """The messages with the instruction to answer in plain text at the top of the system prompt."""
    first = messages[0]
    if first["role"] not in ("system", "developer"):
        return [{"role": "system", "content": PLAIN_TEXT}, *messages]
    content = first["content"]
    told = f"{PLAIN_TEXT}\n\n{content}" if isinstance(content, str) else [_text(f"{PLAIN_TEXT}\n\n"), *content]
    return [first | {"content": told}, *messages[1:]]


def _text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def _tool(tool: object, at: str) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise row_error("wrong_type", at, expected="an object with type and function")
    if tool.get("type") != "function":
        raise row_error("missing" if tool.get("type") is None else "wrong_type", f"{at}.type", expected='"function"')
    function, at = tool.get("function"), f"{at}.function"
    if not isinstance(function, dict):
        raise row_error("missing" if function is None else "wrong_type", at, expected="an object with a name")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise row_error("missing" if name is None else "wrong_type", f"{at}.name", expected="a non-empty string")
    types = {"description": (str, "a string"), "parameters": (dict, "a JSON Schema"), "strict": (bool, "true or false")}
    kept = {field: function[field] for field in _FUNCTION_FIELDS if function.get(field) is not None}
    for field, value in kept.items():
        wanted, expected = types[field]
        if not isinstance(value, wanted):
            raise row_error("wrong_type", f"{at}.{field}", expected=expected)
    return {"type": "function", "function": {"name": name, **kept}}


def _word(choice: str | None, tools: list[dict[str, Any]]) -> str:
    if choice is None:
        return "auto"
    if choice not in _WORDS:
        expected = "auto, required, none or a function"
        raise row_error("wrong_type", "body.tool_choice", expected=expected)
    if choice == "required" and not tools:
        raise row_error("call_without_tools", "body.tool_choice")
    return choice


def _named(choice: object, tools: list[dict[str, Any]]) -> str:
    if not isinstance(choice, dict) or choice.get("type") != "function":
        raise row_error("wrong_type", "body.tool_choice", expected="auto, required, none or a function")
    function, at = choice.get("function"), "body.tool_choice.function"
    if not isinstance(function, dict):
        raise row_error("missing" if function is None else "wrong_type", at, expected="an object with a name")
    name, at = function.get("name"), f"{at}.name"
    if not isinstance(name, str) or not name:
        raise row_error("missing" if name is None else "wrong_type", at, expected="a non-empty string")
    if not tools:
        raise row_error("call_without_tools", "body.tool_choice")
    if all(tool["function"]["name"] != name for tool in tools):
        raise row_error("unknown_tool", at, name=name[:64])
    return name
