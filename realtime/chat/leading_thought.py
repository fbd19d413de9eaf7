"""Thinking that a model writes at the head of its answer, between <think> and </think>, as the thinking it is. Pure."""

from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class LeadingThought:
    """Parts an answer's text as it comes. A block that is never closed is text, as it was written.

    `is_over` says that nothing that comes is held back any more.
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        # What may hold the block's end, once it is open.
        self._tail: str | None = None
        self._closed = False
        self.is_over = False

    def feed(self, text: str) -> tuple[str, str]:
        """The thinking and the text that a further piece brings."""
        if self.is_over:
            return "", text
        if self._closed:
            return "", self._trim(text)
        self._held.append(text)
        if self._tail is not None:
            self._tail = self._tail[1 - len(_CLOSE) :] + text
        else:
            found = self._block()
            if not found.startswith(_OPEN):
                return "", "" if _OPEN.startswith(found) else self.end()
            self._tail = found
        if _CLOSE not in self._tail:
            return "", ""
        thought, _, rest = self._block().removeprefix(_OPEN).partition(_CLOSE)
        self._held.clear()
        self._closed = True
        return thought.strip("\n"), self._trim(rest)

    def end(self) -> str:
        """The text that is still held back."""
        held = "".join(self._held)
        self._held.clear()
        self.is_over = True
        return held

    def _block(self) -> str:
        return "".join(self._held).lstrip()

    def _trim(self, text: str) -> str:
        """The text after the block without the lines between."""
        text = text.lstrip("\n")
        self.is_over = bool(text)
        return text
