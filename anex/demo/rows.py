"""Real text that is already here: what the installed packages say about themselves, one row each."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageMetadata, distributions

ROWS = 30
_MARKUP = re.compile(r"[<>|`{}=*]|https?:|::|[#-]{4}|\]\(|pip install|\(c\)", re.IGNORECASE)
_LEAST_PROSE = 80
_MOST_PROSE = 500


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


def jsonl(rows: Iterable[Row]) -> bytes:
    """The input file of a chat job: one request per line (reference 001, "Input format")."""
    return b"".join(json.dumps(_request(row), ensure_ascii=False).encode() + b"\n" for row in rows)


def _request(row: Row) -> dict[str, object]:
    question = f"{row.text}\n\nIn one short sentence: what is the Python package {row.custom_id} for?"
    return {
        "custom_id": row.custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"messages": [{"role": "user", "content": question}]},
    }


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
