"""Puts the gains of an answer together for a client that did not ask for a stream. Pure."""

from collections.abc import Mapping
from typing import Any

from realtime.chat.protocol import Head
from realtime.chat.reading import Delta


class Whole:
    """One answer, gathered: its text is that of the streamed answer. `logprobs` says whether they were asked for."""

    def __init__(self, head: Head, *, logprobs: bool = False) -> None:
        self._head = head
        self._tells_logprobs = logprobs
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._logprobs: list[dict[str, Any]] = []
        self._finish_reason: str | None = None

    def add(self, delta: Delta) -> None:
        """Gather a delta."""
        self._content.append(delta.content)
        self._reasoning.append(delta.reasoning)
        self._logprobs += delta.logprobs or ()
        self._finish_reason = delta.finish_reason
        for piece in delta.calls:
            kind, field = ("custom", "input") if "custom" in piece else ("function", "arguments")
            if "id" in piece:
                self._calls.append({**piece, "pieces": [piece[kind][field]]})
            else:
                self._calls[piece["index"]]["pieces"].append(piece[kind][field])

    def body(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as OpenAI shapes it."""
        choice = {
            "index": 0,
            "message": self._message(),
            "logprobs": {"content": self._logprobs, "refusal": None} if self._tells_logprobs else None,
            "finish_reason": self._finish_reason,
        }
        named = {"id": self._head.answer_id, "object": "chat.completion", "created": self._head.created}
        return {**named, "model": self._head.model_id, "choices": [choice], "usage": dict(usage)}

    def _message(self) -> dict[str, Any]:
        content, thought = "".join(self._content), "".join(self._reasoning)
        message: dict[str, Any] = {"role": "assistant", "content": content or (None if self._calls else "")}
        message["refusal"] = None
        if thought:
            message["reasoning_content"] = thought
        if self._calls:
            message["tool_calls"] = [_call(call) for call in self._calls]
        return message


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    text = "".join(call["pieces"])
    if call["type"] == "custom":
        return {"id": call["id"], "type": "custom", "custom": {"name": call["custom"]["name"], "input": text}}
    return {"id": call["id"], "type": "function", "function": {"name": call["function"]["name"], "arguments": text}}
