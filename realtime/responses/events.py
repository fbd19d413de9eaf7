"""Writes an answer as the numbered events of the Responses API (reference 004, the Responses API). Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from inference.requests.response_answers import (
    ID_PREFIX,
    Item,
    call_item,
    item_status,
    message_item,
    reasoning_item,
    response,
    summary_part,
    text_part,
    usage_of,
)
from inference.requests.responses import Echo
from realtime.chat.protocol import Head
from realtime.chat.reading import Delta

# By the kind of a call: where its text stands in a chat, and what the events of that text are named.
_ARGUMENTS: Final = {
    "fc": ("function", "arguments", "response.function_call_arguments"),
    "ctc": ("custom", "input", "response.custom_tool_call_input"),
}
_EMPTY: Final[dict[str, Item]] = {"msg": {"content": []}, "rs": {"summary": []}}


class _Open(msgspec.Struct):
    """An item that still grows; `call` is the head of a call."""

    kind: str
    index: int
    id: str
    call: dict[str, Any] = {}
    texts: list[str] = []
    logprobs: list[dict[str, Any]] = []
    status: str = "in_progress"

    def close(self) -> None:
        """Nothing follows; a status that was set before stays."""
        if self.status == "in_progress":
            self.status = "completed"

    def item(self) -> Item:
        """The item as it is so far."""
        text = "".join(self.texts)
        if self.kind == "rs":
            return reasoning_item(self.id, text)
        if self.kind == "msg":
            return message_item(self.id, [text_part(text, self.logprobs)], status=self.status)
        group, field, _ = _ARGUMENTS[self.kind]
        return call_item(self.id, {"id": self.call["id"], group: {**self.call[group], field: text}}, status=self.status)


class Writer:
    """The events of one answer. One item of text or thinking grows at a time; calls grow until the end."""

    def __init__(self, head: Head, echo: Echo) -> None:
        self._named: dict[str, Any] = {**head._asdict(), "echo": echo}
        self._name = head.answer_id.removeprefix(ID_PREFIX)
        self._number = 0
        self._reason: str | None = None
        self._items: list[_Open] = []
        self._text: _Open | None = None
        self._calls: dict[int, _Open] = {}

    def write(self, delta: Delta) -> bytes:
        """The events of a delta."""
        out = self._begin()
        if delta.reasoning:
            out += self._think(delta.reasoning)
        if delta.content or delta.logprobs:
            out += self._say(delta.content, delta.logprobs or [])
        for piece in delta.calls:
            out += self._call(piece)
        self._reason = delta.finish_reason
        return b"".join(out)

    def finish(self, usage: Mapping[str, Any]) -> bytes:
        """The end of what is open, and of the response."""
        out, status = self._begin(), item_status(self._reason)
        if status == "completed" and all(item.kind == "rs" for item in self._items):
            out += self._say("", [])
        if self._items:
            self._items[-1].status = status
        out += self._close_text()
        for call in self._calls.values():
            out += self._close_call(call)
        output = [item.item() for item in self._items]
        ended = response(**self._named, output=output, reason=self._reason, usage=usage_of(usage))
        out.append(self._event(f"response.{ended['status']}", response=ended))
        return b"".join(out)

    def error(self, error: Mapping[str, Any]) -> bytes:
        """An error and the response that failed; the error also stands where some clients look for it alone."""
        out = self._begin()
        brief = {"code": error.get("code"), "message": error.get("message")}
        out.append(self._event("error", **brief, param=error.get("param"), error=error))
        for item in self._items:
            item.status = "incomplete" if item.status == "in_progress" else item.status
        output = [item.item() for item in self._items]
        failed = response(**self._named, output=output, reason=None, status="failed", error=brief)
        out.append(self._event("response.failed", response=failed))
        return b"".join(out)

    def _begin(self) -> list[bytes]:
        if self._number:
            return []
        begun = response(**self._named, output=[], reason=None)
        return [self._event(f"response.{word}", response=begun) for word in ("created", "in_progress")]

    def _event(self, kind: str, of: _Open | None = None, **fields: Any) -> bytes:
        place = {} if of is None else {"item_id": of.id, "output_index": of.index}
        data = orjson.dumps({"type": kind, "sequence_number": self._number, **place, **fields})
        self._number += 1
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"

    def _add(self, kind: str, call: dict[str, Any] | None = None) -> tuple[_Open, bytes]:
        index = len(self._items)
        opened = _Open(kind, index, f"{kind}_{self._name}{index}", call or {})
        self._items.append(opened)
        item = opened.item() | _EMPTY.get(kind, {})
        return opened, self._event("response.output_item.added", output_index=index, item=item)

    def _done(self, item: _Open) -> bytes:
        return self._event("response.output_item.done", output_index=item.index, item=item.item())

    def _think(self, thought: str) -> list[bytes]:
        out: list[bytes] = []
        item = self._text
        if item is None or item.kind != "rs":
            out = self._close_text()
            item, added = self._add("rs")
            part = summary_part("")
            out += [added, self._event("response.reasoning_summary_part.added", item, summary_index=0, part=part)]
            self._text = item
        item.texts.append(thought)
        return [*out, self._event("response.reasoning_summary_text.delta", item, summary_index=0, delta=thought)]

    def _say(self, text: str, logprobs: list[dict[str, Any]]) -> list[bytes]:
        out: list[bytes] = []
        item = self._text
        if item is None or item.kind != "msg":
            out = self._close_text()
            item, added = self._add("msg")
            part = text_part("", [])
            out += [added, self._event("response.content_part.added", item, content_index=0, part=part)]
            self._text = item
        item.texts.append(text)
        item.logprobs += logprobs
        told = {"content_index": 0, "delta": text, "logprobs": logprobs}
        return [*out, self._event("response.output_text.delta", item, **told)] if text or logprobs else out

    def _call(self, piece: dict[str, Any]) -> list[bytes]:
        kind = "ctc" if "custom" in piece else "fc"
        group, field, name = _ARGUMENTS[kind]
        out: list[bytes] = []
        if "id" in piece:
            out = self._close_text()
            call, added = self._add(kind, piece)
            out.append(added)
            self._calls[piece["index"]] = call
        call, text = self._calls[piece["index"]], piece[group].get(field) or ""
        if not text:
            return out
        call.texts.append(text)
        return [*out, self._event(f"{name}.delta", call, delta=text)]

    def _close_text(self) -> list[bytes]:
        item, self._text = self._text, None
        if item is None:
            return []
        item.close()
        text = "".join(item.texts)
        if item.kind == "rs":
            place: dict[str, Any] = {"summary_index": 0}
            done = self._event("response.reasoning_summary_text.done", item, **place, text=text)
            part = self._event("response.reasoning_summary_part.done", item, **place, part=summary_part(text))
        else:
            place = {"content_index": 0}
            done = self._event("response.output_text.done", item, **place, text=text, logprobs=item.logprobs)
            whole = text_part(text, item.logprobs)
            part = self._event("response.content_part.done", item, **place, part=whole)
        return [done, part, self._done(item)]

    def _close_call(self, call: _Open) -> list[bytes]:
        call.close()
        _, field, name = _ARGUMENTS[call.kind]
        return [self._event(f"{name}.done", call, **{field: "".join(call.texts)}), self._done(call)]
