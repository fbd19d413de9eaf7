"""`anex usage`."""

from typing import Annotated, Any, Final

import typer

from anex.cli.account import current
from anex.cli.client import Client
from anex.cli.options import AsJson
from anex.cli.screen import count, screen, table
from anex.core.money import NANO_PER_CENT, format_dollars

_FIGURES: Final = ("requests", "input", "cached", "output", "cost")

Since = Annotated[
    str | None,
    typer.Option("--from", metavar="DAY", help="First day (UTC), like 2026-01-31; 30 days in all if left out."),
]
Until = Annotated[str | None, typer.Option("--to", metavar="DAY", help="Last day (UTC); today if left out.")]
By = Annotated[str, typer.Option("--by", help="Broken down by day, model, key and surface: some of them, with commas.")]


def usage(since: Since = None, until: Until = None, by: By = "model", as_json: AsJson = False) -> None:
    """Show what was used and what it cost, and the balance. The costs add up to the ledger's charges."""
    with Client(current(), screen.tell) as client:
        found = client.get("/v1/usage", start_date=since, end_date=until, group_by=by)
        balance = client.get("/v1/balance")
    names = found["group_by"]
    rows = [(*(row[name] or "-" for name in names), *_figures(row)) for row in found["data"]]
    total = ("total", *("" for _ in names[1:]), *_figures(found["total"]))[-len(names) - len(_FIGURES) :]
    screen.answer(found | {"balance": balance}, table((*names, *_FIGURES), [*rows, total], right=_FIGURES))
    available, held = (format_dollars(round(balance[name] * NANO_PER_CENT)) for name in ("available", "held"))
    screen.tell(f"{found['start_date']} to {found['end_date']} (UTC). Available now: {available}; held: {held}.")


def _figures(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (row["requests"], row["input_tokens"], row["cached_tokens"], row["output_tokens"])
    return *(count(number) for number in counts), format_dollars(row["cost_nano_usd"])
