"""`POST /completions`: legacy completions, answered by a chat (reference 004, legacy completions). Pure."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from inference.refusals import RowError
from inference.requests import completions
from inference.requests.bodies import refused
from inference.requests.profiles import Profile
from inference.requests.translation import Translated
from realtime.chat.protocol import Head, Protocol
from realtime.chat.reading import Delta
from realtime.chat.whole import Whole
from realtime.sse import END, event


class Writer:
    """The chunks of one answer; with `usage` all but the last say null. Thinking has no place here."""

    def __init__(self, head: Head, *, usage: bool) -> None:
        named = {"id": head.answer_id, "object": "text_completion", "created": head.created, "model": head.model_id}
        self._head = orjson.dumps(named)[:-1]
        self._tail = b',"usage":null}' if usage else b"}"
        self._usage = usage

    def write(self, delta: Delta) -> bytes:
        """The events of a delta."""
        if not delta.content and delta.finish_reason is None:
            return b""
        return self._chunk(delta.content, delta.finish_reason)

    def finish(self, usage: Mapping[str, Any]) -> bytes:
        """The end of a stream, after its usage where that was asked for."""
        if not self._usage:
            return END
        return event(self._head + b',"choices":[],"usage":' + orjson.dumps(usage) + b"}") + END

    def error(self, error: Mapping[str, Any]) -> bytes:
        """The end of an answer that failed after it began."""
        return self._chunk("", "error", b',"error":' + orjson.dumps(error)) + END

    def _chunk(self, text: str, reason: str | None, more: bytes = b"") -> bytes:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
        return event(self._head + more + b',"choices":[' + orjson.dumps(choice) + b"]" + self._tail)


class _Whole(Whole):
    def body(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        return completions.as_completion(super().body(usage))


def _translate(body: dict[str, Any], profile: Profile) -> Translated[None]:
    try:
        return completions.translate(body, refuses_unknown=profile.refuses_unknown)
    except RowError as error:
        raise refused(error, profile) from None


COMPLETIONS: Final = Protocol(
    surface="completions",
    id_prefix=completions.ID_PREFIX,
    translate=_translate,
    events=lambda head, asked, echo: Writer(head, usage=asked.includes_usage),
    whole=lambda head, asked, echo: _Whole(head),
)
