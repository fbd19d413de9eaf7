"""Real text that is already here: what the installed packages say about themselves, one row each."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageMetadata, distributions

ROWS = 30
QUESTION = {
    "type": "choice",
    "instructions": "What is this Python package about?",
    "criteria": {
        "web": "websites, HTTP, servers and APIs",
        "data": "databases, numbers and tables",
        "development": "testing, checking and building code",
        "security": "passwords, encryption and signatures",
        "documents": "text, images and file formats",
    },
}
_MARKUP = re.compile(r"[<>|`{}=*]|https?:|::|[#-]{4}|\]\(|pip install|\(c\)", re.IGNORECASE)
_LEAST_PROSE = 80
_MOST_PROSE = 500
# Characters: what an encoder of 256 tokens is sure to read.
_MOST_ENCODED = 250


@dataclass(frozen=True, slots=True)
class Row:
    """A package's name, which becomes the custom_id, and its own description."""

    custom_id: str
    text: str


def installed(limit: int = ROWS) -> list[Row]:
    """Rows from all over the alphabet of installed packages; packages that say nothing are left out."""
    rows = list(_rows(distributions()))
    step = max(1, len(rows) // limit)
    return rows[::step][:limit]


def chats(rows: Iterable[Row]) -> bytes:
    """The input file of a chat job: one request per line (reference 001, "Input format")."""
    question = "{0.text}\n\nIn one short sentence: what is the Python package {0.custom_id} for?"
    return _jsonl(
        rows,
        "/v1/chat/completions",
        lambda row: {"messages": [{"role": "user", "content": question.format(row)}]},
    )


def embeddings(rows: Iterable[Row]) -> bytes:
    """The input file of an embedding job (reference 001, embedding jobs)."""
    return _jsonl(rows, "/v1/embeddings", lambda row: {"input": row.text[:_MOST_ENCODED]})


def decisions(rows: Iterable[Row]) -> bytes:
    """The input file of a decision job (reference 001, decision jobs)."""
    return _jsonl(
        rows, "/v1/systemone", lambda row: {"state": row.text[:_MOST_ENCODED], "questions": {"about": QUESTION}}
    )


def _jsonl(rows: Iterable[Row], url: str, body: Callable[[Row], object]) -> bytes:
    requests = ({"custom_id": row.custom_id, "method": "POST", "url": url, "body": body(row)} for row in rows)
    return b"".join(json.dumps(request, ensure_ascii=False).encode() + b"\n" for request in requests)


def _rows(packages: Iterable[Distribution]) -> Iterator[Row]:
    named = {_field(package.metadata, "Name"): package for package in packages}
    for name in sorted(named, key=str.lower):
        about = named[name].metadata
        summary = _field(about, "Summary")
        if summary and summary != "UNKNOWN":
            yield Row(name, f"{name}: {summary}\n{_first_prose(about)}".strip())


def _field(about: PackageMetadata, name: str) -> str:
    return str((about.get_all(name) or [""])[0]).strip()


def _first_prose(about: PackageMetadata) -> str:
    """The first paragraph of the long description that reads like sentences, cut at a word."""
    description = _field(about, "Description") or str(about.json.get("description") or "")
    for paragraph in re.split(r"\n\s*\n", description):
        text = " ".join(paragraph.split())
        if len(text) >= _LEAST_PROSE and text[0].isupper() and not _MARKUP.search(text):
            return text if len(text) <= _MOST_PROSE else text[:_MOST_PROSE].rsplit(" ", 1)[0]
    return ""
