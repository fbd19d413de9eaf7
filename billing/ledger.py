"""Words of the ledger: its entries, what to show of them, and what they add up to. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

KINDS: dict[str, str] = {
    "grant": "Grant",
    "payment": "Payment",
    "payment_refund": "Payment refunded",
    "dispute": "Payment disputed",
    "charge": "Charge",
    "refund": "Refund",
    "correction": "Correction",
    "expiry": "Expired",
    "hold": "Held",
    "release": "Released",
}


_PREFIXES = ("", "job:", "req:", "topup:")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two entries; later entries of one instant have the higher rank."""

    at: datetime
    rank: int
    id: int

    def __str__(self) -> str:
        return f"{self.at.isoformat()}~{self.rank}~{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Cursor | None":
        """The cursor that was written as `text`; None for anything else."""
        parts = text.split("~")
        try:
            at, rank, row = datetime.fromisoformat(parts[0]), int(parts[1]), int(parts[2])
        except (ValueError, IndexError):
            return None
        if at.tzinfo is None or len(parts) != 3 or not (0 <= rank <= 2 and 0 <= row < 2**63):
            return None
        return cls(at, rank, row)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `amount_nano` changes the balance, `held_nano` what is held; a hold leaves the balance as it is."""

    at: datetime
    rank: int
    id: int
    kind: str
    source: str
    reason: str
    actor: str
    amount_nano: int
    held_nano: int
    balance_nano: int | None

    @property
    def cursor(self) -> Cursor:
        """Where the page after this entry starts."""
        return Cursor(self.at, self.rank, self.id)

    @property
    def label(self) -> str:
        """The kind in words."""
        return KINDS[self.kind]

    @property
    def topup_id(self) -> str | None:
        """The payment that has a receipt."""
        return self.source.removeprefix("topup:") if self.source.startswith("topup:") else None

    @property
    def job_id(self) -> str | None:
        """The job the line is about."""
        if not self.source.startswith("job:"):
            return None
        return self.source.removeprefix("job:").removesuffix(":capture")

    @property
    def request_id(self) -> str | None:
        """The realtime request the line is about."""
        if not self.source.startswith("req:"):
            return None
        return self.source.removeprefix("req:").removesuffix(":capture")

    @property
    def anchor(self) -> str:
        """What tells the line from others of a page; a hold and its release have one id."""
        return f"line-{self.rank}-{self.id}"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries: of one kind (empty for all), from `start` and before `end`, about `text` (empty for all)."""

    kind: str = ""
    start: datetime | None = None
    end: datetime | None = None
    text: str = ""

    @property
    def sources(self) -> list[str]:
        """What the text may be the id of: a job, a request, a payment, or a source as the CSV names it."""
        return [f"{prefix}{self.text}{suffix}" for prefix in _PREFIXES for suffix in ("", ":capture")]

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self == Filter()


@dataclass(frozen=True, slots=True)
class Totals:
    """What entries add up to, in nano-dollars; `taken_nano` is below zero."""

    entries: int
    added_nano: int
    taken_nano: int
    held_nano: int

    @property
    def net_nano(self) -> int:
        """By how much the balance changed."""
        return self.added_nano + self.taken_nano


def total(entries: Sequence[Entry]) -> Totals:
    """What some entries add up to."""
    amounts = [entry.amount_nano for entry in entries]
    return Totals(
        entries=len(entries),
        added_nano=sum(amount for amount in amounts if amount > 0),
        taken_nano=sum(amount for amount in amounts if amount < 0),
        held_nano=sum(entry.held_nano for entry in entries),
    )


def days(first: date | None, last: date | None, kind: str = "", text: str = "") -> Filter:
    """Whole days in UTC, both included."""
    start = datetime.combine(first, time(), UTC) if first else None
    end = datetime.combine(last + timedelta(days=1), time(), UTC) if last and last < date.max else None
    return Filter(kind, start, end, text.strip())


def month(year: int, number: int) -> Filter:
    """A calendar month in UTC."""
    first = date(year, number, 1)
    after = date(year + number // 12, number % 12 + 1, 1)
    return days(first, after - timedelta(days=1))
