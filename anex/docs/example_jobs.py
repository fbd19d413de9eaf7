"""What a few jobs of usual shapes cost on each model, computed as their quotes and bills are (reference 002)."""

from collections.abc import Iterator, Sequence
from typing import Final

from anex.core.money import format_dollars
from anex.core.usage import Usage
from anex.docs import calculator
from anex.docs.calculator import Group, Shape
from anex.docs.models import Entry
from anex.docs.tables import table

# By the task of a model: rows, tokens that each sends, tokens that each usually writes, and may write at most.
_SHAPES: Final = {"chat": (10_000, 500, 200, 400), "embed": (100_000, 300, 0, 0), "decide": (100_000, 300, 0, 0)}
_HEAD: Final = ("model", "rows", "input tokens a row", "output tokens a row", "quote", "usual bill")


def example_table(entries: Sequence[Entry]) -> str:
    """A row for each model that is sold in batches, of text alone."""
    return table(_HEAD, _rows(entries))


def _rows(entries: Sequence[Entry]) -> Iterator[tuple[str, ...]]:
    for model, card in ((entry.model, entry.card) for entry in entries):
        if card is None or not card.sells("batch", media=False):
            continue
        rows, sends, writes, may_write = _SHAPES[model.task]
        shape = Shape(Group(rows, Usage(input_tokens=sends)), Group(0, Usage()), writes, may_write)
        price = calculator.prices(card, shape)[0]
        output = f"{writes:,}, at most {may_write:,}" if may_write else "–"
        quote, bill = format_dollars(price.held_nano), format_dollars(price.expected_nano)
        yield f"[`{model.id}`](/models/{model.id})", f"{rows:,}", f"{sends:,}", output, quote, bill
