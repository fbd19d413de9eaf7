"""Reads of an organization's money: what it has, and the lines that made it so."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import F, QuerySet, Value

from billing.balance import Balance
from billing.models import Account, Transfer


@dataclass(frozen=True, slots=True)
class Line:
    """One ledger line as its organization sees it, in nano-dollars.

    `amount_nano` is above zero where it added to the balance; `balance_nano` is the balance after it.
    """

    at: datetime
    kind: str
    source: str
    reason: str
    actor: str
    amount_nano: int
    balance_nano: int


def get(organization_id: UUID) -> Balance:
    """The organization's balance; zeros before its first transfer."""
    row = Account.objects.filter(organization_id=organization_id).values_list(
        "balance_nano", "held_nano", "credit_limit_nano"
    )
    return Balance(*(row.first() or (0, 0, 0)))


def require_positive(organization_id: UUID) -> None:
    """Raise PaymentRequired when the balance (with a credit limit, what is left of it) is zero or below."""
    balance = get(organization_id)
    if balance.is_empty:
        raise balance.empty()


def statement(organization_id: UUID, limit: int) -> list[Line]:
    """The newest `limit` ledger lines, newest first, each with the balance after it."""
    added = _lines(organization_id, "credit", limit)
    taken = _lines(organization_id, "debit", limit)
    # One query, so that the balance and the lines are of the same moment.
    rows = list(added.union(taken, all=True).order_by("-id")[:limit])
    lines: list[Line] = []
    for row in rows:
        amount = row["amount_nano"] if row["side"] == "credit" else -row["amount_nano"]
        after = lines[-1].balance_nano - lines[-1].amount_nano if lines else row["current_nano"]
        lines.append(Line(row["at"], row["kind"], row["source"], row["reason"], row["actor"], amount, after))
    return lines


def _lines(organization_id: UUID, side: Literal["debit", "credit"], limit: int) -> QuerySet[Any, Any]:
    """The newest lines with the organization on one side; each side is read from its own index."""
    return (
        Transfer.objects.filter(**{f"{side}__organization_id": organization_id})
        .order_by("-id")
        .values("id", "at", "kind", "source", "reason", "actor", "amount_nano")
        .annotate(side=Value(side), current_nano=F(f"{side}__balance_nano"))[:limit]
    )
