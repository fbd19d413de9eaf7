"""Reads what a model server streams for a chat, and says what the answer gains with each event. Pure."""

from typing import Any, Final, NoReturn

import msgspec

from anex.core import clock
from anex.core.usage import Usage
from inference.backends.answers import check_error_event, decode_object
from inference.backends.faults import FormFailed, ServerFailed
from inference.backends.usage import MOST_TOKENS, read_reasoning, read_usage
from inference.requests.chat_request import ChatRequest
from realtime.chat.calls import Calls
from realtime.chat.logprobs import Aligner
from realtime.chat.plain import Piece, read_plain

_FAILURES: Final = ("abort", "error")


class Delta(msgspec.Struct, gc=False):
    """What an answer gains: text, thinking, pieces of calls, log probabilities, and at last why it ended."""

    content: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = []
    logprobs: list[dict[str, Any]] | None = None
    finish_reason: str | None = None


class Reader:
    """The state of one answer while its events come in.

    `finish_reason` is None until the answer ended: a stream that is over before was cut. `pieces` counts events with
    text, for a server that reports no usage.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._calls = Calls(request.use, promised=request.promises)
        stops = request.sampling.get("stop", [])
        self._aligner = Aligner(stops, thinks=request.thinks) if request.top_logprobs is not None else None
        # JSON where it came in a plain chunk.
        self._report: object = None
        self._thought = False
        self.finish_reason: str | None = None
        self.pieces = 0

    def read(self, event: bytes) -> Delta | None:
        """What an event's data brings, None for nothing.

        Raises `ServerFailed` for an error or for what is no chunk; before the answer began also `Refused` or Throttled.
        """
        if self._aligner is None and self.finish_reason is None and (piece := read_plain(event)):
            return self._add(piece)
        chunk = decode_object(event)
        if chunk is None:
            raise ServerFailed("The model server failed while it answered.")
        if chunk.get("error"):
            self._fail(chunk)
        if chunk.get("usage") is not None:
            self._report = chunk["usage"]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or self.finish_reason is not None:
            return None
        delta = choice.get("delta")
        return self._gain(delta if isinstance(delta, dict) else {}, choice)

    @property
    def called(self) -> int | None:
        """The index of the call that grew last, None before the first."""
        return self._calls.touched

    @property
    def dropped(self) -> list[int]:
        """The indexes of calls that never go out."""
        return self._calls.dropped

    def cut(self) -> Delta:
        """The end of an answer whose time is over: what was left of its calls."""
        left, text = self._calls.end(cut=True)
        self.finish_reason = "length"
        return Delta(text, calls=left, finish_reason="length")

    def usage(self, *, input_bound: int = MOST_TOKENS, output_bound: int = MOST_TOKENS) -> tuple[Usage | None, bool]:
        """The last usage the server reported, as `read_usage` believes it, and whether it had to be changed."""
        body = self._reported() | {"choices": None}
        return read_usage(body, input_bound=input_bound, output_bound=output_bound)

    def reasoning_tokens(self) -> int | None:
        """The tokens of the answer that were thinking, where the server tells; none beside thinking is no count."""
        told = read_reasoning(self._reported())
        return None if told == 0 and self._thought else told

    def _reported(self) -> dict[str, Any]:
        if not isinstance(self._report, bytes):
            return {"usage": self._report}
        return decode_object(b'{"usage":' + self._report + b"}") or {"usage": False}

    def _add(self, piece: Piece) -> Delta | None:
        if piece.usage is not None:
            self._report = piece.usage
        self._thought |= bool(piece.thought)
        if piece.content or piece.thought:
            self.pieces += 1
        thought = "" if self._request.excludes_reasoning else piece.thought
        return Delta(piece.content, thought) if piece.content or thought or piece.begins else None

    def _fail(self, chunk: dict[str, Any]) -> NoReturn:
        try:
            if not self.pieces:
                check_error_event(chunk, now=clock.now())
            raise ServerFailed("The model server failed while it answered.")
        except ServerFailed as error:
            if self._request.is_constrained:
                raise FormFailed(str(error)) from None
            raise

    def _gain(self, delta: dict[str, Any], choice: dict[str, Any]) -> Delta | None:
        content, thought = _text(delta.get("content")), _text(delta.get("reasoning_content") or delta.get("reasoning"))
        ended = choice.get("finish_reason") or None
        called = delta.get("tool_calls")
        self._thought |= bool(thought)
        if content or thought or called:
            self.pieces += 1
        calls = self._calls.add(called) if called else []
        if ended is not None:
            left, text = self._calls.end(cut=ended == "length")
            calls, content = calls + left, content + text
            self.finish_reason = self._finish(ended)
        logprobs = self._aligned(choice, content) if self._aligner else None
        if self._request.excludes_reasoning:
            thought = ""
        if not (content or thought or calls or logprobs or ended is not None or "role" in delta):
            return None
        return Delta(content, thought, calls, logprobs, self.finish_reason)

    def _aligned(self, choice: dict[str, Any], content: str) -> list[dict[str, Any]]:
        assert self._aligner
        told = choice.get("logprobs")
        given = told.get("content") if isinstance(told, dict) else None
        entries = [self._cut(entry) for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
        reason = choice.get("finish_reason") or None
        if reason is None:
            return self._aligner.add(entries, content)
        return self._aligner.end(entries, content, cut=reason == "length", stop=choice.get("stop_reason"))

    def _cut(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry with no more alternatives than were asked for."""
        others = entry.get("top_logprobs")
        return entry | {"top_logprobs": others[: self._request.top_logprobs] if isinstance(others, list) else []}

    def _finish(self, reason: object) -> str:
        """The reason as OpenAI names it: `tool_calls` comes with calls alone, and a named function ends in `stop`."""
        if reason in _FAILURES:
            raise ServerFailed("The model server gave up while it answered.")
        if reason == "length" or (reason == "content_filter" and not self._calls):
            return str(reason)
        named = self._request.use.choice == "named" and not self._request.promises
        return "tool_calls" if self._calls and not named else "stop"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
