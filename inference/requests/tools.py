"""Tools and `tool_choice`: read, checked against each other, and as a model server is sent them (000; 004, tools)."""

from typing import Any, Final, Literal

from msgspec import Struct

from inference.catalogue.schema import Model
from inference.refusals import row_error
from inference.requests.tool_definitions import Placed, check_names, read_any, read_function

Messages = list[dict[str, Any]]

# Put at the top of the system prompt where tools stay in it and none may be called.
PLAIN_TEXT: Final = (
    "Answer this turn in plain text. Do not call any tool or function, not even one that is listed here; "
    "results of earlier calls in this conversation may be used."
)
_WORDS: Final = ("auto", "required", "none")


class ToolUse(Struct, frozen=True, kw_only=True):
    """The tools as they are sent on, and which may be called: `named` asks for the function `name`.

    `one_call` keeps an answer to one call. `choice` is `auto` where nothing was said. `places` are the paths of the
    definitions, `custom` the names of those that take free text.
    """

    tools: list[dict[str, Any]] = []
    places: tuple[str, ...] = ()
    custom: frozenset[str] = frozenset()
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
        return [function for _, function in self.placed_forced]

    @property
    def placed_forced(self) -> list[tuple[str, dict[str, Any]]]:
        """The same, each behind the path of its definition."""
        placed = [(place, tool["function"]) for place, tool in zip(self.places, self.tools, strict=True)]
        return [each for each in placed if self.name in (None, each[1]["name"])] if self.forces else []


NO_TOOLS: Final = ToolUse()


def read_tools(body: dict[str, Any], *, takes_custom: bool = False) -> ToolUse:
    """What a body says of tools, or a `RowError`; `takes_custom` is as in `Profile`."""
    tools, choice, parallel = body.get("tools"), body.get("tool_choice"), body.get("parallel_tool_calls")
    if tools is None and choice is None and parallel is None:
        return NO_TOOLS
    if parallel is not None and not isinstance(parallel, bool):
        raise row_error("wrong_type", "body.parallel_tool_calls", expected="true or false")
    if tools is not None and not isinstance(tools, list):
        raise row_error("wrong_type", "body.tools", expected="an array of tools")
    read = read_any if takes_custom else read_function
    found: list[Placed] = [read(tool, f"body.tools[{index}]") for index, tool in enumerate(tools or ())]
    known = [tool for tool, _ in found]
    custom: set[str] = set()
    if takes_custom:
        check_names(found)
        given = zip(known, tools or (), strict=True)
        custom = {tool["function"]["name"] for tool, told in given if told["type"] == "custom"}
    name, word = None, choice
    if choice is None or isinstance(choice, str):
        word = _word(choice, known)
    else:
        name, word = _named(_nested(choice) if takes_custom else choice, known), "named"
    use = ToolUse(
        tools=known,
        places=tuple(place for _, place in found),
        custom=frozenset(custom),
        choice=word,  # type: ignore[arg-type]
        name=name,
        one_call=parallel is False,
    )
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


def _nested(choice: object) -> object:
    """A named tool in either spelling and of either kind, as a function's is spelt."""
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("function", "custom"):
        if isinstance(kind, str) and kind != "allowed_tools":
            raise row_error("hosted_tool", "body.tool_choice.type", type=kind[:64])
        return choice
    assert isinstance(choice, dict)
    return {"type": "function", "function": choice.get(kind, {"name": choice.get("name")})}


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
