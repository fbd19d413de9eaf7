"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with this head; a sentence where it has no rows."""
    lines = [_row(row) for row in rows]
    if not lines:
        return "There is none at the moment."
    return "\n".join((_row(head), "|" + "---|" * len(head), *lines))


def cell(text: str) -> str:
    """Text as it may stand in a table: on one line, its bars no borders, its angles no tags."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
