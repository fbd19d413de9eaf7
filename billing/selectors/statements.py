"""Monthly statements: where a month began, what happened by kind, where it ended."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import UUID

from django.db.models import Min, Q

from anex.core import clock
from anex.core.errors import NotFound
from billing.ledger import KINDS, Entry, Filter, month
from billing.models import Transfer
from billing.selectors import ledger

_UNMOVED = ("hold", "release")


@dataclass(frozen=True, slots=True)
class Part:
    """All lines of a kind together; `lines` is empty for charges, of which there may be any number."""

    label: str
    count: int
    amount_nano: int
    lines: list[Entry]


@dataclass(frozen=True, slots=True)
class Statement:
    """A month of an organization, in nano-dollars: `opening + parts = closing`."""

    first_day: date
    opening_nano: int
    parts: list[Part]
    closing_nano: int
    is_over: bool

    @property
    def due_nano(self) -> int:
        """What is owed at the end, by an organization billed by invoice."""
        return max(0, -self.closing_nano)


def months(organization_id: UUID) -> list[date]:
    """The first day of every month since the first ledger line, newest first."""
    mine = Q(debit__organization_id=organization_id) | Q(credit__organization_id=organization_id)
    first: datetime | None = Transfer.objects.filter(mine).aggregate(first=Min("at"))["first"]
    if first is None:
        return []
    now, found = clock.now(), []
    year, number = first.astimezone(UTC).year, first.astimezone(UTC).month
    while (year, number) <= (now.year, now.month):
        found.append(date(year, number, 1))
        year, number = year + number // 12, number % 12 + 1
    return found[::-1]


def get(organization_id: UUID, first_day: date) -> Statement:
    """The statement of a month; NotFound for a month without one."""
    if first_day not in months(organization_id):
        raise NotFound("There is no statement of this month.")
    span = month(first_day.year, first_day.month)
    assert span.start is not None and span.end is not None
    parts = []
    for kind, label in KINDS.items():
        if kind in _UNMOVED:
            continue
        wanted = Filter(kind, span.start, span.end)
        totals = ledger.totals(organization_id, wanted)
        if totals.entries:
            lines = (
                []
                if kind == "charge"
                else [line for some in ledger.everything(organization_id, wanted) for line in some]
            )
            parts.append(Part(label, totals.entries, totals.net_nano, lines[::-1]))
    return Statement(
        first_day=first_day,
        opening_nano=ledger.balance_at(organization_id, span.start),
        parts=parts,
        closing_nano=ledger.balance_at(organization_id, span.end),
        is_over=span.end <= clock.now(),
    )
