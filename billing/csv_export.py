"""Money as CSV: exact amounts as numbers, people's words as cells that no spreadsheet runs."""

import csv
import io
from collections.abc import Iterable
from decimal import Decimal

from anex.core import csv_export
from anex.core.money import NANO_PER_DOLLAR


def text(value: str) -> str:
    """A cell of text that people wrote."""
    return str(csv_export.cell(value))


def dollars(nano: int) -> str:
    """An exact amount in dollars with nine digits, so that sums of cells lose nothing."""
    return f"{Decimal(nano) / NANO_PER_DOLLAR:.9f}"


def lines(rows: Iterable[Iterable[str | int]]) -> str:
    """Rows as the text of a CSV file."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()
