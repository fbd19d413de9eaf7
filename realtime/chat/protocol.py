"""The text protocols that a chat is asked and answered in, as values: one request path serves them all. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from typing import Protocol as Shape

from inference.requests.chat_request import ChatRequest
from inference.requests.profiles import Profile
from inference.requests.translation import Translated
from realtime.chat.reading import Delta


class Head(NamedTuple):
    """What names an answer; `created` is in unix seconds."""

    answer_id: str
    created: int
    model_id: str


class Events(Shape):
    """Writes one answer as the events of its protocol. After `finish` or `error` the stream is over."""

    def write(self, delta: Delta) -> bytes:
        """The events of what the answer gained."""
        ...

    def finish(self, usage: Mapping[str, Any]) -> bytes:
        """The last events of an answer that is whole; `usage` in the words of a chat (see chat/usage.py)."""
        ...

    def error(self, error: Mapping[str, Any]) -> bytes:
        """The last events of one that failed after it began; `error` is the error object of the surface."""
        ...


class Gathered(Shape):
    """Puts one answer together for a client that did not ask for a stream."""

    def add(self, delta: Delta) -> None:
        """Gather what the answer gained."""
        ...

    def body(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """The answer; `usage` as in `Events.finish`."""
        ...


@dataclass(frozen=True, slots=True)
class Protocol:
    """One protocol: `surface` is the usage record's, `id_prefix` begins the ids of answers.

    `translate` turns the body of a request into that of a chat, and refuses what has no meaning in one, naming fields
    as they were written. `events` and `whole` begin an answer; they are given the echo of the translation.
    """

    surface: str
    id_prefix: str
    translate: Callable[[dict[str, Any], Profile], Translated[Any]]
    events: Callable[[Head, ChatRequest, Any], Events]
    whole: Callable[[Head, ChatRequest, Any], Gathered]
