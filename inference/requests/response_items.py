"""The input of a Responses request as the messages of a chat (reference 004, the Responses API). Pure.

What a model wrote in one round (thinking, text, calls) are items of their own there and one assistant message here.
"""

from typing import Any, Final

import orjson

from inference.refusals import expected, row_error

_ITEMS: Final = (
    "message, function_call, function_call_output, custom_tool_call, custom_tool_call_output, reasoning, item_reference"
)
_CALLING: Final = ("function_call", "custom_tool_call")
_OF_A_ROUND: Final = (*_CALLING, "reasoning", "item_reference")
_TEXTS: Final = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
# What the ids of our items begin with (see response_answers).
_THOUGHT: Final = "rs_"
_SAID: Final = "msg_"
_CALLS: Final = ("fc_", "ctc_")


class Conversation:
    """Messages as they are put together; `names` says by what path each was written."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.names: dict[str, str] = {"messages": "input"}
        # The assistant message that further items may belong to, its texts, and the thinking before and in it.
        self._round: dict[str, Any] | None = None
        self._said: list[str] = []
        self._thoughts: list[str] = []

    def instruct(self, text: object) -> None:
        """Begin with the system prompt."""
        if not isinstance(text, str):
            raise expected("a string", text, "body.instructions")
        self._add({"role": "system", "content": text}, "instructions")
        self.names["messages[0].content"] = "instructions"

    def ask(self, value: object) -> None:
        """Take the input: a text or a list of items. Raises `RowError`."""
        if isinstance(value, str):
            self._add({"role": "user", "content": value}, "input")
            self.names[f"messages[{len(self.messages) - 1}].content"] = "input"
            return
        if not isinstance(value, list):
            raise expected("a string or an array of items", value, "body.input")
        if not value:
            raise row_error("empty", "body.input")
        beside = _beside_calls(value)
        for index, item in enumerate(value):
            self._take(item, f"input[{index}]", beside_call=beside[index])
        self._settle()

    def _take(self, item: object, at: str, *, beside_call: bool) -> None:
        if not isinstance(item, dict):
            raise row_error("wrong_type", f"body.{at}", expected="an object")
        kind = _kind(item)
        if kind == "message":
            self._say(item, at)
        elif kind in _CALLING:
            self._call(item, kind, at)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            content = self._content(item.get("output"), f"{at}.output")
            self._add({"role": "tool", "tool_call_id": item.get("call_id"), "content": content}, at)
            self.names |= {f"{self._here}.tool_call_id": f"{at}.call_id", f"{self._here}.content": f"{at}.output"}
        elif kind == "reasoning":
            self._think(item)
        elif kind == "item_reference":
            _check_reference(item.get("id"), f"body.{at}", beside_call=beside_call)
        else:
            raise row_error("unknown_item", f"body.{at}.type", type=str(kind)[:64], supported=_ITEMS)

    def _say(self, item: dict[str, Any], at: str) -> None:
        role, content = item.get("role"), item.get("content")
        if role != "assistant":
            self._add({"role": role, "content": self._content(content, f"{at}.content")}, at)
            return
        text = _joined(content) if isinstance(content, list) else content
        if not isinstance(text, str):
            raise row_error("wrong_type", f"body.{at}.content", expected="a string or an array of texts")
        message = self._current(at)
        if self._said and not message.get("tool_calls"):
            self._settle()
            self._current(at)
        self._said.append(text)

    def _call(self, item: dict[str, Any], kind: object, at: str) -> None:
        message = self._current(at)
        calls = message.setdefault("tool_calls", [])
        here = f"{self._here}.tool_calls[{len(calls)}]"
        function: Any = {"name": item.get("name"), "arguments": item.get("arguments")}
        if kind == "custom_tool_call":
            given = item.get("input")
            if not isinstance(given, str):
                raise expected("a string", given, f"body.{at}.input")
            function["arguments"] = orjson.dumps({"input": given}).decode()
        calls.append({"id": item.get("call_id"), "type": "function", "function": function})
        self.names |= {here: at, f"{here}.id": f"{at}.call_id", f"{here}.function": at}

    def _think(self, item: dict[str, Any]) -> None:
        texts = (_joined(item[name]) for name in ("content", "summary") if isinstance(item.get(name), list))
        self._thoughts.append(next(filter(None, texts), ""))

    def _current(self, at: str) -> dict[str, Any]:
        """The assistant message of the round under way."""
        if self._round is None:
            self._round = {"role": "assistant", "content": None}
            self._place(self._round, at)
        return self._round

    def _settle(self) -> None:
        """The round is over; thinking that led to nothing is left out."""
        if self._round is not None:
            self._round["content"] = "".join(self._said) if self._said else None
            if thought := "".join(self._thoughts):
                self._round["reasoning_content"] = thought
        self._round, self._said, self._thoughts = None, [], []

    def _add(self, message: dict[str, Any], at: str) -> None:
        self._settle()
        self._place(message, at)

    def _place(self, message: dict[str, Any], at: str) -> None:
        self.messages.append(message)
        self.names[self._here] = at

    @property
    def _here(self) -> str:
        return f"messages[{len(self.messages) - 1}]"

    def _content(self, content: object, at: str) -> object:
        """A content of texts and pictures as a chat spells it; what else there is stays, and is judged there.

        One text alone is that text: the same prompt as where it was sent as a string.
        """
        if not isinstance(content, list):
            return content
        if len(content) == 1 and (only := _joined(content)) is not None and content[0].get("type") in _TEXTS:
            return only
        here = f"messages[{len(self.messages)}].content"
        return [self._part(part, f"{here}[{place}]", f"{at}[{place}]") for place, part in enumerate(content)]

    def _part(self, part: object, here: str, at: str) -> object:
        if not isinstance(part, dict):
            return part
        kind = part.get("type")
        if kind in _TEXTS:
            return {"type": "text", "text": part.get("text")}
        if kind == "refusal":
            return {"type": "text", "text": part.get("refusal")}
        if kind != "input_image":
            return part
        if part.get("file_id") is not None:
            raise row_error("stored", f"body.{at}.file_id")
        self.names[f"{here}.image_url.url"] = f"{at}.image_url"
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}


def _kind(item: dict[str, Any]) -> object:
    kind = item.get("type")
    if kind is None:
        return "item_reference" if "role" not in item and "id" in item else "message"
    return kind


def _beside_calls(items: list[Any]) -> list[bool]:
    """By item, whether it belongs to a round of the model that makes a call which is sent."""
    beside = [False] * len(items)
    start, calls = 0, False
    for place, item in enumerate([*items, None]):
        kind = _kind(item) if isinstance(item, dict) else None
        if kind in _OF_A_ROUND or (kind == "message" and item.get("role") == "assistant"):
            calls = calls or kind in _CALLING
        else:
            beside[start:place] = [calls] * (place - start)
            start, calls = place + 1, False
    return beside


def _check_reference(item_id: object, at: str, *, beside_call: bool) -> None:
    """Raise `RowError` unless what is referred to can be left out: thinking, or text beside a call that is sent."""
    name = item_id if isinstance(item_id, str) else ""
    if name.startswith(_THOUGHT):
        return
    if name.startswith(_SAID):
        if beside_call:
            return
        raise row_error("stored_answer", at)
    raise row_error("stored_call" if name.startswith(_CALLS) else "stored", at)


def _joined(parts: list[Any]) -> str | None:
    """The texts of parts in one; None where one of them is no text."""
    texts = []
    for part in parts:
        text = part.get("refusal" if part.get("type") == "refusal" else "text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "".join(texts)
