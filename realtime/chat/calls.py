"""Tool calls as a model server streams them, made whole where clients rely on it (000 and 004, tools). Pure."""

from typing import Any
from uuid import uuid4

import msgspec
import orjson

from inference.backends.faults import ServerFailed
from inference.requests import call_ids
from inference.requests.tools import ToolUse
from realtime.chat.custom_input import InputReader


class _Call(msgspec.Struct):
    index: int
    id: str
    name: str = ""
    arguments: str = ""
    announced: bool = False
    custom: InputReader | None = None


class Calls:
    """The calls of one answer: each is announced once with its id and whole name, its arguments follow in pieces.

    A call that was forced is kept back until it ends: one that was cut off is delivered as text, or never where the
    call was `promised`. `touched` is the index of the call that grew last, `dropped` those of calls that never go out.
    """

    def __init__(self, use: ToolUse, *, promised: bool = False) -> None:
        self._use = use
        self._promised = promised
        self._calls: dict[int, _Call] = {}
        self.touched: int | None = None
        self.dropped: list[int] = []

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
        if self._use.forces and self._promised:
            calls = self._wanted(calls)
        elif self._use.forces and (cut or not all(_is_whole(call) for call in calls)):
            text = self._as_text(calls)
            self._calls.clear()
            return [], text
        for call in calls:
            if not call.announced and not call.arguments and not cut:
                call.arguments = "{}"
        # One that was cut off before its name is no call.
        known = [call for call in calls if call.name or not cut]
        return [piece for call in known for piece in (*self._flush(call), *self._finish(call))], ""

    def _wanted(self, calls: list[_Call]) -> list[_Call]:
        """The calls that were asked for and are whole, numbered anew; of the others nothing is known any more."""
        names = {function["name"] for function in self._use.forced}
        for call in calls:
            call.arguments = call.arguments or "{}"
        wanted = [call for call in calls if call.name in names and _is_whole(call)]
        self.dropped = [call.index for call in calls if call not in wanted]
        for place, call in enumerate(wanted):
            call.index = place
        self._calls = dict(enumerate(wanted))
        return wanted

    def _merge(self, delta: dict[str, Any]) -> _Call | None:
        told_index = delta.get("index")
        key = told_index if isinstance(told_index, int) else 0
        call = self._calls.get(key)
        if call is None:
            if self._use.one_call and self._calls:
                return None
            call = self._calls[key] = _Call(len(self._calls), self._id(delta.get("id")))
        self.touched = call.index
        function = delta.get("function")
        if isinstance(function, dict):
            name, arguments = function.get("name"), function.get("arguments")
            if isinstance(name, str) and not call.arguments and not call.announced and name != call.name:
                call.name += name
            if isinstance(arguments, str):
                call.arguments += arguments
        return call

    def _id(self, own: object) -> str:
        """The id as the client gets it, in one of two ways: the model's own is known again when it comes back."""
        spelt = call_ids.outward(own) if isinstance(own, str) else None
        return spelt if spelt and all(spelt != call.id for call in self._calls.values()) else f"call_{uuid4().hex}"

    def _pieces(self, call: _Call) -> list[dict[str, Any]]:
        if self._use.forces:
            return []
        earlier = [piece for other in self._calls.values() if other.index < call.index for piece in self._flush(other)]
        return earlier + (self._flush(call) if call.arguments else [])

    def _flush(self, call: _Call) -> list[dict[str, Any]]:
        """What of a call was not sent yet."""
        arguments, call.arguments = call.arguments, ""
        if call.announced:
            if call.custom:
                return _more_input(call, call.custom.feed(arguments))
            return [{"index": call.index, "function": {"arguments": arguments}}] if arguments else []
        if not call.name:
            raise ServerFailed("The model server called a function without a name.")
        call.announced = True
        if call.name in self._use.custom:
            call.custom = InputReader()
            custom = {"name": call.name, "input": call.custom.feed(arguments)}
            return [{"index": call.index, "id": call.id, "type": "custom", "custom": custom}]
        function = {"name": call.name, "arguments": arguments}
        return [{"index": call.index, "id": call.id, "type": "function", "function": function}]

    @staticmethod
    def _finish(call: _Call) -> list[dict[str, Any]]:
        return _more_input(call, call.custom.end()) if call.custom else []

    def _as_text(self, calls: list[_Call]) -> str:
        """The calls as the model wrote them: the arguments alone of a named function, else a list."""
        if self._use.choice == "named":
            return "".join(call.arguments for call in calls)
        written = [f'{{"name": {orjson.dumps(call.name).decode()}, "parameters": {call.arguments}' for call in calls]
        return "[" + "}, ".join(written)


def _more_input(call: _Call, text: str) -> list[dict[str, Any]]:
    return [{"index": call.index, "custom": {"input": text}}] if text else []


def _is_whole(call: _Call) -> bool:
    try:
        return isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        return False
