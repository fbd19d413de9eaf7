"""Tool calls as a model server streams them, made whole where clients rely on it (reference 000, tool_choice). Pure."""

from typing import Any
from uuid import uuid4

import msgspec
import orjson

from inference.backends.faults import ServerFailed
from inference.requests.tools import ToolUse

_LEAST_ID = 9


class _Call(msgspec.Struct):
    index: int
    id: str
    name: str = ""
    arguments: str = ""
    announced: bool = False


class Calls:
    """The calls of one answer: each is announced once with its id and whole name, its arguments follow in pieces.

    A call that was forced is kept back until it ends, since one that was cut off is delivered as text.
    """

    def __init__(self, use: ToolUse) -> None:
        self._use = use
        self._calls: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, deltas: object) -> list[dict[str, Any]]:
        """What of a server's `tool_calls` can go on to the client now."""
        out: list[dict[str, Any]] = []
        for delta in deltas if isinstance(deltas, list) else ():
            if isinstance(delta, dict) and (call := self._merge(delta)) is not None:
                out += self._pieces(call)
        return out

    def end(self, *, cut: bool) -> tuple[list[dict[str, Any]], str]:
        """What is left to be sent: pieces of calls; or text, where a forced call was cut off or is not whole.

        Raises `ServerFailed` for a call without a name, as `add` does.
        """
        calls = list(self._calls.values())
        if self._use.forces and (cut or not all(_is_whole(call) for call in calls)):
            text = self._as_text(calls)
            self._calls.clear()
            return [], text
        for call in calls:
            if not call.announced and not call.arguments and not cut:
                call.arguments = "{}"
        # One that was cut off before its name is no call.
        known = [call for call in calls if call.name or not cut]
        return [piece for call in known for piece in self._flush(call)], ""

    def _merge(self, delta: dict[str, Any]) -> _Call | None:
        told_index = delta.get("index")
        key = told_index if isinstance(told_index, int) else 0
        call = self._calls.get(key)
        if call is None:
            if self._use.one_call and self._calls:
                return None
            told = delta.get("id")
            known = told if isinstance(told, str) and len(told) >= _LEAST_ID else f"call_{uuid4().hex}"
            call = self._calls[key] = _Call(len(self._calls), known)
        function = delta.get("function")
        if isinstance(function, dict):
            name, arguments = function.get("name"), function.get("arguments")
            if isinstance(name, str) and not call.arguments and not call.announced and name != call.name:
                call.name += name
            if isinstance(arguments, str):
                call.arguments += arguments
        return call

    def _pieces(self, call: _Call) -> list[dict[str, Any]]:
        if self._use.forces:
            return []
        earlier = [piece for other in self._calls.values() if other.index < call.index for piece in self._flush(other)]
        return earlier + (self._flush(call) if call.arguments else [])

    @staticmethod
    def _flush(call: _Call) -> list[dict[str, Any]]:
        """What of a call was not sent yet."""
        arguments, call.arguments = call.arguments, ""
        if call.announced:
            return [{"index": call.index, "function": {"arguments": arguments}}] if arguments else []
        if not call.name:
            raise ServerFailed("The model server called a function without a name.")
        call.announced = True
        function = {"name": call.name, "arguments": arguments}
        return [{"index": call.index, "id": call.id, "type": "function", "function": function}]

    def _as_text(self, calls: list[_Call]) -> str:
        """The calls as the model wrote them: the arguments alone of a named function, else a list."""
        if self._use.choice == "named":
            return "".join(call.arguments for call in calls)
        written = [f'{{"name": {orjson.dumps(call.name).decode()}, "parameters": {call.arguments}' for call in calls]
        return "[" + "}, ".join(written)


def _is_whole(call: _Call) -> bool:
    try:
        return isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        return False
