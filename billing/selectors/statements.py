"""Monthly statements: where a month began, what happened by kind, where it ended."""

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from uuid import UUID

from anex.core import clock
from anex.core.errors import NotFound
from billing.ledger import KINDS, Entry, Filter, month
from billing.selectors import ledger

# How many lines of a kind a statement names; charges, of which there may be any number, are in the CSV.
LISTED = 200


@dataclass(frozen=True, slots=True)
class Part:
    """All lines of a kind together; `lines` are the last of them, and none of charges."""

    kind: str
    count: int
    amount_nano: int
    lines: list[Entry]

    @property
    def label(self) -> str:
        """The kind in words."""
        return KINDS[self.kind]

    @property
    def unlisted(self) -> int:
        """How many lines are counted and not listed."""
        return 0 if self.kind == "charge" else self.count - len(self.lines)


@dataclass(frozen=True, slots=True)
class Statement:
    """A month of an organization, in nano-dollars: `opening + parts = closing`."""

    first_day: date
    opening_nano: int
    parts: list[Part]
    closing_nano: int
    is_over: bool

    @property
    def last_day(self) -> date:
        """The last day of the month."""
        return date(self.first_day.year + self.first_day.month // 12, self.first_day.month % 12 + 1, 1) - timedelta(1)

    @property
    def due_nano(self) -> int:
        """What is owed at the end, by an organization billed by invoice."""
        return max(0, -self.closing_nano)


def months(organization_id: UUID) -> list[date]:
    """The first day of every month since the first ledger line, newest first."""
    first = ledger.first_at(organization_id)
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
    moved = ledger.moved_by_kind(organization_id, span.start, span.end)
    parts = []
    for kind in (kind for kind in KINDS if kind in moved):
        count, amount_nano = moved[kind]
        wanted = Filter(kind, span.start, span.end)
        lines = [] if kind == "charge" else ledger.page(organization_id, wanted, size=LISTED).entries
        parts.append(Part(kind, count, amount_nano, lines[::-1]))
    return Statement(
        first_day=first_day,
        opening_nano=ledger.balance_at(organization_id, span.start),
        parts=parts,
        closing_nano=ledger.balance_at(organization_id, span.end),
        is_over=span.end <= clock.now(),
    )
