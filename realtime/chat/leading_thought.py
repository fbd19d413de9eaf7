"""Thinking that a model writes at the head of its answer, between <think> and </think>, as the thinking it is. Pure."""

from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class LeadingThought:
    """Parts an answer's text as it comes. A block that is never closed is text, as it was written.

    `is_over` says that nothing that comes is held back any more.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closed = False
        self.is_over = False

    def feed(self, text: str) -> tuple[str, str]:
        """The thinking and the text that a further piece brings."""
        if self.is_over:
            return "", text
        if self._closed:
            return "", self._trim(text)
        self._held += text
        found = self._held.lstrip()
        if _OPEN.startswith(found[: len(_OPEN)]):
            thought, closed, rest = found.removeprefix(_OPEN).partition(_CLOSE)
            if not closed:
                return "", ""
            self._held, self._closed = "", True
            return thought.strip("\n"), self._trim(rest)
        return "", self.end()

    def end(self) -> str:
        """The text that is still held back."""
        held, self._held, self.is_over = self._held, "", True
        return held

    def _trim(self, text: str) -> str:
        """The text after the block without the lines between."""
        text = text.lstrip("\n")
        self.is_over = bool(text)
        return text
