"""The search of the docs: one entry per section, and a plain ranking that the search box's script repeats."""

import re
from typing import Final

from anex.docs import facts, library, models
from anex.docs.library import Document

_MOST: Final = 20
_AROUND: Final = 80


def documents() -> list[Document]:
    """Every page of the docs and of the models."""
    known = facts.gather()
    entries = models.listed()
    return [
        *(page.fill(known) for page in library.pages()),
        models.index(entries),
        *(models.document(entry) for entry in entries),
    ]


def index() -> list[dict[str, str]]:
    """By section: `p` the page's path, `a` its anchor, `h` the heading, `t` its text without marks (reference 002)."""
    return [
        {"p": document.path, "a": section.anchor, "h": section.heading, "t": section.text}
        for document in documents()
        for section in document.rendered.sections
    ]


def find(asked: str) -> list[dict[str, str]]:
    """The sections that hold every word, those that name it in their heading first; `s` is where it stands."""
    words = asked.lower().split()
    scored = [(score, entry) for entry in index() if (score := _score(entry, words))]
    best = sorted(scored, key=lambda pair: -pair[0])[:_MOST]
    return [entry | {"s": _around(entry["t"], words[0])} for _, entry in best]


def _score(entry: dict[str, str], words: list[str]) -> int:
    heading, text = entry["h"].lower(), entry["t"].lower()
    if not words or not all(word in heading or word in text for word in words):
        return 0
    return sum(20 * (word in heading) + 40 * (word == heading) + min(5, text.count(word)) for word in words)


def _around(text: str, word: str) -> str:
    found = re.search(re.escape(word), text, re.IGNORECASE)
    start = max(0, (found.start() if found else 0) - _AROUND)
    piece = text[start : start + 2 * _AROUND]
    return ("…" if start else "") + piece + ("…" if start + 2 * _AROUND < len(text) else "")
