"""Passes an answer on as far as it keeps what was promised: a forced call, a form (reference 004).

Text that a model writes before a forced call is held back, calls that were not asked for are never sent, and of text
around a JSON object nothing is. What breaks its promise is refused, and pays for the thinking that was delivered.
"""

from collections import Counter
from dataclasses import replace
from typing import Final

from anex.core.errors import AnexError, InvalidRequest, Unprocessable
from anex.core.usage import Usage
from inference.requests.chat_request import ChatRequest
from inference.requests.schema_process import answer_fault
from realtime.chat.forms import Form
from realtime.chat.leading_thought import LeadingThought
from realtime.chat.reading import Delta, Reader
from realtime.threads import in_thread

# Characters after which a model that should call is not going to.
_PAGE: Final = 4_000
_NO_OBJECT: Final = "it is no JSON object"
_THOUGHT, _TEXT, _AROUND = "thought", "text", "around"


class Promised:
    """Reads one answer as `Reader` does. `close` gives its end, once its last event was read.

    `owed` is what is paid for though the answer was refused.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._reader = Reader(request)
        self._leading: LeadingThought | None = LeadingThought()
        self._form = Form() if request.response_format is not None else None
        self._counts = request.is_constrained
        self._held: list[str] = []
        self._aside = 0
        self._sent = self._spoke = False
        self._last: Delta | None = None
        self._tokens: Counter[object] = Counter()
        self._pieces: Counter[object] = Counter()
        self._written = self._reports = 0
        self.owed: Usage | None = None

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended; None while it has not."""
        return self._reader.finish_reason

    @property
    def pieces(self) -> int:
        """Events with text."""
        return self._reader.pieces

    def read(self, event: bytes) -> Delta | None:
        """What an event's data brings, None for nothing. Raises as `Reader.read`, and where a call is not made."""
        delta = self._reader.read(event)
        if delta is not None:
            return self._pass(delta)
        if self._counts:
            self._count(self._reader.called)
        return None

    def cut(self) -> None:
        """The time of the turn is over: the answer ends here, as by its cap."""
        if self._last is None:
            self._pass(self._reader.cut())

    async def close(self) -> Delta:
        """The last of the answer, or the refusal of one that is not what was promised."""
        last = self._last
        assert last is not None
        if last.finish_reason == "length" and not self._spoke:
            raise _out_of_room()
        if self._request.use.forces:
            if not last.calls:
                raise self._unmet(_uncalled(self._request))
            last.content = "".join(self._held)
        elif self._form is not None:
            await self._check(self._form)
        return last

    def usage(self) -> tuple[Usage | None, bool]:
        """As `Reader.usage`; what was written and is not sent is not counted."""
        told, changed = self._reader.usage()
        if told is None or not self._counts:
            return told, changed
        calls = sum(self._share(call) for call in self._reader.dropped)
        return replace(told, output_tokens=max(0, told.output_tokens - calls - self._share(_AROUND))), changed

    def reasoning_tokens(self) -> int | None:
        """As `Reader.reasoning_tokens`."""
        return self._reader.reasoning_tokens()

    def _pass(self, delta: Delta) -> Delta | None:
        """What of a delta may go on now; the last of them waits for `close`."""
        if self._leading is not None:
            self._split(delta, self._leading)
        self._spoke = self._spoke or bool(delta.content) or self._reader.called is not None
        if self._counts:
            self._keep(delta)
        if delta.finish_reason is not None:
            self._last = delta
            return None
        return delta if not self._counts or delta.content or delta.reasoning or delta.logprobs else None

    def _split(self, delta: Delta, leading: LeadingThought) -> None:
        if delta.reasoning:
            delta.content = leading.end() + delta.content
        else:
            thought, delta.content = leading.feed(delta.content)
            delta.reasoning = "" if self._request.excludes_reasoning else thought
            if delta.finish_reason is not None:
                delta.content += leading.end()
        if leading.is_over:
            self._leading = None

    def _keep(self, delta: Delta) -> None:
        """Take out of a delta what must not go on, and count whose tokens these are."""
        text, what = delta.content, _THOUGHT if delta.reasoning else _TEXT
        if self._form is not None:
            delta.content = self._form.feed(text)
            self._sent |= bool(delta.content)
            if text and not delta.content:
                what, self._aside = _AROUND, self._aside + len(text)
        else:
            self._held.append(text)
            delta.content, self._aside = "", self._aside + len(text)
        self._count(what if text or delta.reasoning else self._reader.called)
        if self._aside > _PAGE and not self._sent and self._reader.called is None:
            raise self._unmet(_uncalled(self._request) if self._form is None else _unshaped(_NO_OBJECT))

    def _count(self, what: object) -> None:
        self._pieces[what] += 1
        told, _ = self._reader.usage()
        if told is not None and told.output_tokens > self._written:
            self._tokens[what] += told.output_tokens - self._written
            self._written = told.output_tokens
            self._reports += 1

    def _share(self, what: object) -> int:
        """The tokens of a kind; of a server that reports but once, the pieces."""
        return self._tokens[what] if self._reports > 1 else self._pieces[what]

    async def _check(self, form: Form) -> None:
        if not form.is_object:
            raise self._unmet(_unshaped(_NO_OBJECT))
        for _, schema in self._request.schemas:
            if fault := await in_thread(answer_fault, schema, form.content.encode()):
                raise self._unmet(_unshaped(fault))

    def _unmet(self, error: AnexError) -> AnexError:
        """The refusal, once it is settled what of the answer was delivered: of one that is not streamed, nothing."""
        told, _ = self.usage()
        if told is not None and self._request.stream:
            if self._sent:
                self.owed = told
            elif self._pieces[_THOUGHT] and not self._request.excludes_reasoning:
                thought = self._reader.reasoning_tokens() or self._share(_THOUGHT)
                self.owed = replace(told, output_tokens=min(told.output_tokens, thought))
        # What was charged has used its idempotency key.
        error.extra |= {"charged": "refunded"} if self.owed is None else {"charged": "stands"}
        return error


def _out_of_room() -> AnexError:
    return InvalidRequest(
        "The cap on the answer, or the time it may take, was over before a word of it. Raise the cap, or ask for less "
        "reasoning.",
        code="output_limit_reached",
    )


def _uncalled(request: ChatRequest) -> AnexError:
    wanted = f"the tool '{request.use.name}'" if request.use.name else "a tool"
    return Unprocessable(
        f"The model did not call {wanted}, which tool_choice demands. Ask for the call in the prompt, or try again.",
        code="tool_choice_unmet",
        param="tool_choice",
    )


def _unshaped(fault: str) -> AnexError:
    return Unprocessable(
        f"The model's answer does not keep to response_format: {fault}.".replace("..", "."),
        code="response_format_unmet",
        param="response_format",
    )
