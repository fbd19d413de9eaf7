"""`anex models`."""

from decimal import Decimal
from typing import Any

from anex.cli.account import current
from anex.cli.client import Client
from anex.cli.options import AsJson
from anex.cli.screen import screen, table

_MILLION = 1_000_000


def models(as_json: AsJson = False) -> None:
    """List the models that answer at once, with their prices per million tokens."""
    with Client(current(), screen.tell) as client:
        listed = client.get("/v1/models")["data"]
        native = client.get("/realtime/v1/models")["data"]
    tasks = {entry["id"]: entry["task"] for entry in native}
    known = {entry["id"] for entry in listed}
    entries = [*listed, *(entry for entry in native if entry["id"] not in known)]
    rows = [_row(entry, tasks.get(entry["id"], "chat")) for entry in entries]
    document = [{**entry, "task": tasks.get(entry["id"], "chat")} for entry in entries]
    screen.answer(document, table(("model", "task", "takes", "input", "output"), rows, right=("input", "output")))


def price(entry: dict[str, Any], kind: str) -> Decimal | None:
    """Dollars per token of a kind (`prompt`, `cached_prompt`, `completion`) of text; None where it is not told."""
    for modality in (*entry.get("input_modalities", ()), *entry.get("output_modalities", ())):
        for part in modality.get("pricing", ()):
            if part["type"] == kind and part["unit"] == "token":
                return Decimal(part["cost_usd"])
    return None


def _row(entry: dict[str, Any], task: str) -> tuple[object, ...]:
    takes = ", ".join(modality["type"] for modality in entry.get("input_modalities", ())) or "text"
    return entry["id"], task, takes, _per_million(price(entry, "prompt")), _per_million(price(entry, "completion"))


def _per_million(dollars: Decimal | None) -> str | None:
    """With every digit, and at least the cents."""
    if dollars is None:
        return None
    whole, _, rest = f"{dollars * _MILLION:f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"
