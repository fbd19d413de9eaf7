"""Writes an answer as OpenAI's chunks, one event each (reference 000, streaming). Pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from realtime.chat.protocol import Head
from realtime.chat.reading import Delta
from realtime.sse import END, event


class Writer:
    """The chunks of one answer. The role comes once, in the first; why it ended comes once, in a chunk of its own.

    With `usage` every chunk says null until the last, which has no choice.
    """

    def __init__(self, head: Head, *, usage: bool) -> None:
        named = {"id": head.answer_id, "object": "chat.completion.chunk", "created": head.created}
        self._head = orjson.dumps(named | {"model": head.model_id})[:-1]
        self._usage = usage
        self._tail = b',"usage":null}' if usage else b"}"
        self._text_head = b"data: " + self._head + b',"choices":[{"index":0,"delta":{"content":'
        self._text_tail = b'},"logprobs":null,"finish_reason":null}]' + self._tail + b"\n\n"
        self._begun = False

    def write(self, delta: Delta) -> bytes:
        """The events of a delta."""
        if self._begun and delta.content and not (delta.reasoning or delta.calls or delta.logprobs):
            out = self._text_head + orjson.dumps(delta.content) + self._text_tail
        else:
            out = self._chunks(delta)
        return out if delta.finish_reason is None else out + self._chunk({}, finish_reason=delta.finish_reason)

    def finish(self, usage: Mapping[str, Any]) -> bytes:
        """The end of a stream, after its usage where that was asked for."""
        if not self._usage:
            return END
        return event(self._head + b',"choices":[],"usage":' + orjson.dumps(usage) + b"}") + END

    def error(self, error: Mapping[str, Any]) -> bytes:
        """The end of an answer that failed after it began: the error object of the surface beside the choice."""
        choice = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "error"}
        told = b',"error":' + orjson.dumps(error) + b',"choices":[' + orjson.dumps(choice) + b"]"
        return event(self._head + told + self._tail) + END

    def _chunks(self, delta: Delta) -> bytes:
        """Log probabilities go with the first of them."""
        gains: list[dict[str, Any]] = []
        if delta.reasoning:
            gains.append({"reasoning_content": delta.reasoning})
        if delta.content:
            gains.append({"content": delta.content})
        if delta.calls:
            gains += [{"tool_calls": [piece]} for piece in delta.calls]
        if not self._begun:
            self._begun = True
            first = gains[0] if gains else {"content": ""}
            gains[:1] = [{"role": "assistant", **first}]
        elif not gains and delta.logprobs:
            gains.append({"content": ""})
        told = [delta.logprobs, *[None] * len(gains)]
        return b"".join(self._chunk(gain, logprobs=logprobs) for gain, logprobs in zip(gains, told, strict=False))

    def _chunk(
        self, gain: dict[str, Any], *, logprobs: list[dict[str, Any]] | None = None, finish_reason: str | None = None
    ) -> bytes:
        told = {"content": logprobs, "refusal": None} if logprobs else None
        choice = {"index": 0, "delta": gain, "logprobs": told, "finish_reason": finish_reason}
        return event(self._head + b',"choices":[' + orjson.dumps(choice) + b"]" + self._tail)
