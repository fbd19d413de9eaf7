"""What commands print: answers on stdout, everything else on stderr, so that a script reads the first alone.

With --json stdout holds one JSON document. What servers and models wrote is shown without control characters: it cannot
move the cursor, rename the window or paint over what stands above it.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from anex.cli.failures import Failure

_WIDE: Final = 240
# Control characters but tab and line feed, the marks that turn the direction of text around, and halves of characters.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: object) -> str:
    """A text that only prints."""
    return _CONTROLS.sub("", str(text))


def document(value: Any) -> str:
    """JSON that only prints: what `plain` leaves out is escaped here, so that a program reads all of it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _width() -> int | None:
    """A terminal's own; a file or a pipe takes lines as long as they are, so that no id is folded."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE


@dataclass(slots=True)
class Screen:
    """Both streams of the process; `as_json` is set by --json."""

    as_json: bool = False
    answered: bool = False
    out: Console = field(default_factory=lambda: Console(highlight=False, markup=False, emoji=False, width=_width()))
    told: Console = field(default_factory=lambda: Console(stderr=True, highlight=False, markup=False, emoji=False))

    def tell(self, text: str) -> None:
        """A message for the person."""
        self.told.print(plain(text), soft_wrap=True)

    def answer(self, found: Any, shown: "Table | str") -> None:
        """What the command was asked for: the document with --json, else what is shown."""
        self.answered = True
        if self.as_json:
            print(document(found))
        elif isinstance(shown, Table):
            self.out.print(shown)
        else:
            self.out.print(plain(shown), soft_wrap=True)

    def write(self, text: str) -> None:
        """A piece of an answer as it comes."""
        sys.stdout.write(plain(text))
        sys.stdout.flush()

    def fail(self, failure: Failure) -> None:
        """Why a command ended; with --json it is the document, unless that was printed already."""
        self.tell(f"anex: {failure.message}")
        if self.as_json and not self.answered:
            error = {"message": failure.message, "status": failure.status, "code": failure.code}
            print(document({"error": error}))

    @contextmanager
    def transfer(self, what: str, total: int | None, done: int = 0) -> Iterator["Bar"]:
        """A bar of bytes."""
        with self._bar(DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn()) as progress:
            yield Bar(progress, what, total, done)

    @contextmanager
    def rows(self, what: str, total: int | None) -> Iterator["Bar"]:
        """A bar of rows."""
        with self._bar(MofNCompleteColumn(), TimeRemainingColumn()) as progress:
            yield Bar(progress, what, total)

    def _bar(self, *columns: ProgressColumn) -> Progress:
        """Only a terminal has bars; into a file they would be noise."""
        text = TextColumn("{task.description}", markup=False)
        return Progress(text, BarColumn(), *columns, console=self.told, disable=not self.told.is_terminal)


class Bar:
    """One bar on the screen."""

    def __init__(self, progress: Progress, what: str, total: int | None, done: int = 0) -> None:
        self._progress = progress
        self._task = progress.add_task(plain(what), total=total, completed=done)

    def advance(self, count: int) -> None:
        """So much more is done."""
        self._progress.advance(self._task, count)

    def show(self, what: str, done: int | None = None, total: int | None = None) -> None:
        """What is going on, and how far it is."""
        self._progress.update(self._task, description=plain(what), completed=done, total=total)


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[str] = ()) -> Table:
    """A table whose columns in `right` are numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, heading in enumerate(headings):
        # What names a row is copied: it stays in one piece.
        made.add_column(heading, justify="right" if heading in right else "left", overflow="fold", no_wrap=not number)
    for row in rows:
        made.add_row(*(Text("-" if cell is None else plain(cell)) for cell in row))
    return made


def facts(*pairs: tuple[str, object]) -> Table:
    """Names and values below each other; what is None is left out."""
    made = Table.grid(padding=(0, 2))
    for name, value in pairs:
        if value is not None:
            made.add_row(Text(name, style="dim"), Text(plain(value)))
    return made


def count(number: int | None) -> str:
    """A whole number with its thousands apart."""
    return "-" if number is None else f"{number:,}"


def size(number: int) -> str:
    """Bytes as people read them."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


screen: Final = Screen()
