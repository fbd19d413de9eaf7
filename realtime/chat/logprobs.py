"""Which log probabilities of a model server are passed on, so that they match the text (reference 000). Pure.

Left out are the token that ends the model's turn, those of a stop string, and the newline that some models write before
an answer that does not have it. Everything else is kept: the thinking and its markers too.
"""

from typing import Any

Entry = dict[str, Any]


class Aligner:
    """Passes entries on in the order of their tokens, keeping back what the end may still strike out."""

    def __init__(self, stops: list[str], *, thinks: bool) -> None:
        self._stops = stops
        self._longest = max(map(len, stops), default=0)
        self._kept: list[Entry] = []
        self._begun = thinks

    def add(self, entries: list[Entry], text: str) -> list[Entry]:
        """The entries that may go out now. `text` is what the answer gained with them."""
        self._kept += entries
        if not self._begun:
            if not text:
                return []
            self._begin(text)
        return self._release()

    def end(self, entries: list[Entry], text: str, *, cut: bool, stop: object) -> list[Entry]:
        """The last entries and those that are left. `stop` is the stop string that the answer met, if any.

        The last entry may be the token that ended the turn, unless the answer was cut off at its cap.
        """
        self._kept += entries
        if not self._begun and text:
            self._begin(text)
        if isinstance(stop, str):
            self._strike(stop)
        elif entries and not cut and not _ends_with(text, self._kept[-1]):
            self._kept.pop()
        if not self._begun:
            self._begin("")
        left, self._kept = self._kept, []
        return left

    def _begin(self, text: str) -> None:
        """Strike out leading newlines that the answer does not begin with."""
        self._begun = True
        while self._kept and not _token(self._kept[0]).strip("\n") and not text.startswith(_token(self._kept[0])):
            del self._kept[0]

    def _release(self) -> list[Entry]:
        length, place = 0, len(self._kept)
        while place and length < self._longest:
            place -= 1
            length += len(_token(self._kept[place]))
        out, self._kept = self._kept[:place], self._kept[place:]
        return out

    def _strike(self, stop: str) -> None:
        """Strike out the tokens of a stop string; one that also holds the end of the answer stays."""
        tail, place = "", len(self._kept)
        while place and stop not in tail:
            place -= 1
            tail = _token(self._kept[place]) + tail
        if stop in tail:
            del self._kept[place if tail.startswith(stop) else place + 1 :]


def _token(entry: Entry) -> str:
    token = entry.get("token")
    return token if isinstance(token, str) else ""


def _ends_with(text: str, entry: Entry) -> bool:
    token = _token(entry)
    # A token that is a part of a character shows as a replacement character: it is content.
    return bool(token) and (text.endswith(token) or "\ufffd" in token)
