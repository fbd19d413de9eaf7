"""The free text of a custom tool's call, out of the arguments of the function that stands for it. Pure."""

import json
import re
from typing import Final

import orjson

from inference.requests.custom_tools import INPUT

_HEAD: Final = re.compile(rf'\s*\{{\s*"{INPUT}"\s*:\s*"')
_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_TOKEN: Final = re.compile(rf'"|[^"\\]+|{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\[^u]')
_HIGH: Final = re.compile(r"\\u[dD][89abAB]")
_PAIR_LENGTH: Final = 12


class InputReader:
    """Gives the text of one call in pieces. Arguments that are not as they were asked for come at the end, whole."""

    def __init__(self) -> None:
        self._raw = ""
        self._left: str | None = None
        self._closed = False

    def feed(self, arguments: str) -> str:
        """The text that a further piece of arguments brings."""
        if self._left is None:
            self._raw += arguments
            head = _HEAD.match(self._raw)
            if head is None:
                return ""
            self._left, arguments = "", self._raw[head.end() :]
        self._left += arguments
        return self._take(final=False)

    def end(self) -> str:
        """What is left of it."""
        if self._left is not None:
            return self._take(final=True)
        try:
            told = orjson.loads(self._raw or "{}")
        except orjson.JSONDecodeError:
            return self._raw
        given = told.get(INPUT, "") if isinstance(told, dict) else None
        return given if isinstance(given, str) else self._raw

    def _take(self, *, final: bool) -> str:
        assert self._left is not None
        text, place, left = [], 0, self._left
        while not self._closed and (token := _TOKEN.match(left, place)):
            found = token.group()
            if not final and len(found) < _PAIR_LENGTH and _HIGH.match(found) and len(left) - place < _PAIR_LENGTH:
                break
            place = token.end()
            if found == '"':
                self._closed = True
            else:
                text.append(_meant(found))
        self._left = "" if self._closed else left[place:]
        return "".join(text)


def _meant(token: str) -> str:
    if not token.startswith("\\"):
        return token
    try:
        meant: str = json.loads(f'"{token}"')
    except ValueError:
        return token[1:]
    # Half of a pair stands for no character.
    return meant if meant.isprintable() or not "\ud800" <= meant <= "\udfff" else "\ufffd"
