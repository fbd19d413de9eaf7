"""Finds the JSON object that an answer has to be, as it comes, in what stands around it (reference 004). Pure."""

import re
from typing import Final

import orjson

_MARK: Final = re.compile(r'["\\{}\[\]]')
_FENCE: Final = "```"
# It names a language, and the object may stand in its line.
_FENCED: Final = re.compile(r"```[^\n{]*(?:\n\s*|(?={))")


class Form:
    """What of an answer's text is its object. `is_broken` says that it begins with something else."""

    def __init__(self) -> None:
        self._before: str | None = ""
        self._kept: list[str] = []
        self._depth = 0
        self._in_text = False
        self._escaped = False
        self._closed = False
        self.is_broken = False

    def feed(self, text: str) -> str:
        """What of a further piece belongs to the object."""
        if self._closed or self.is_broken:
            return ""
        if self._before is not None:
            text = self._begin(self._before + text)
        kept = text[: self._end(text)]
        self._kept.append(kept)
        return kept

    @property
    def content(self) -> str:
        """The object's JSON so far."""
        return "".join(self._kept)

    @property
    def is_object(self) -> bool:
        """Whether it is whole."""
        try:
            return isinstance(orjson.loads(self.content), dict)
        except orjson.JSONDecodeError:
            return False

    def _begin(self, text: str) -> str:
        """The text from the object on; before it may stand spaces, and the first line of a block of code."""
        found = text.lstrip()
        if fence := _FENCED.match(found):
            found = found[fence.end() :]
        elif _FENCE.startswith(found[: len(_FENCE)]):
            self._before = text
            return ""
        if found and not found.startswith("{"):
            self.is_broken = True
            return ""
        self._before = None if found else text
        return found

    def _end(self, text: str) -> int:
        """How much of the text is before the object's end."""
        place = 0
        while place < len(text):
            if self._escaped:
                self._escaped, place = False, place + 1
                continue
            found = _MARK.search(text, place)
            if found is None:
                break
            place = found.end()
            self._mark(found.group())
            if self._closed:
                return place
        return len(text)

    def _mark(self, mark: str) -> None:
        if mark == "\\":
            self._escaped = self._in_text
        elif mark == '"':
            self._in_text = not self._in_text
        elif not self._in_text:
            self._depth += 1 if mark in "{[" else -1
            self._closed = self._depth == 0
