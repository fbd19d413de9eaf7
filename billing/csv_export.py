"""Rows as CSV that a spreadsheet shows and never runs."""

import csv
import io
from collections.abc import Iterable
from decimal import Decimal

from anex.core.money import NANO_PER_DOLLAR

# A cell that starts with one of these is a formula to a spreadsheet (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def text(value: str) -> str:
    """A cell of text that people wrote, made harmless by a leading apostrophe where it needs one."""
    return f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value


def dollars(nano: int) -> str:
    """An exact amount in dollars with nine digits, so that sums of cells lose nothing."""
    return f"{Decimal(nano) / NANO_PER_DOLLAR:.9f}"


def lines(rows: Iterable[Iterable[str | int]]) -> str:
    """Rows as the text of a CSV file."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()
