"""The rule of a key's ceilings: what it spends in a UTC day, week or month, holds included, stays at or below them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from anex.core.errors import InsufficientQuota
from anex.core.money import ceil_cents, cents_to_nano, format_dollars

Period = Literal["daily", "weekly", "monthly"]
NEAR_PERCENT = 80


@dataclass(frozen=True, slots=True)
class Spent:
    """What a key has spent or holds in the present periods, in nano-dollars."""

    day_nano: int = 0
    week_nano: int = 0
    month_nano: int = 0


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A ceiling that something would go past, and what is spent of it."""

    period: Period
    ceiling_cents: int
    spent_nano: int

    def refusal(self, needed_nano: int, *, today: date) -> InsufficientQuota:
        """The 429 with the fields of reference 004; amounts in whole credits, spent ones rounded up."""
        ceiling = format_dollars(cents_to_nano(self.ceiling_cents))
        return InsufficientQuota(
            f"This key may spend {ceiling} {self.period}: {format_dollars(self.spent_nano)} of it is spent or held, "
            f"and this needs {format_dollars(needed_nano)}. It starts anew on {starts_anew(self.period, today)} (UTC); "
            "an owner or admin may raise it.",
            code="key_credit_ceiling",
            extra={
                "type": "insufficient_quota",
                "code": "key_credit_ceiling",
                "ceiling": self.ceiling_cents,
                "spent": ceil_cents(self.spent_nano),
            },
        )


def near(spent: Spent, ceilings: Mapping[Period, int | None]) -> list[Ceiling]:
    """The ceilings, in cents by period, of which 80 % or more is spent or held."""
    sums: dict[Period, int] = {"daily": spent.day_nano, "weekly": spent.week_nano, "monthly": spent.month_nano}
    return [
        Ceiling(period, cents, sums[period])
        for period, cents in ceilings.items()
        if cents is not None and sums[period] * 100 >= cents_to_nano(cents) * NEAR_PERCENT
    ]


def starts_anew(period: Period, today: date) -> date:
    """The day on which the next period begins: tomorrow, Monday, or the first of the next month."""
    if period == "daily":
        return today + timedelta(days=1)
    if period == "weekly":
        return today + timedelta(days=7 - today.weekday())
    return (today.replace(day=1) + timedelta(days=32)).replace(day=1)


def present(spent: Spent, *, counted_on: date, today: date) -> Spent:
    """What was counted on a day as it stands today: periods that are over count nothing."""
    return Spent(
        spent.day_nano if counted_on >= today else 0,
        spent.week_nano if starts_anew("weekly", counted_on) > today else 0,
        spent.month_nano if starts_anew("monthly", counted_on) > today else 0,
    )
