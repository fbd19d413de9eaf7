"""Words of usage: how it is broken down, and over which days. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from anex.core.errors import InvalidRequest

DIMENSIONS = ("day", "model", "key", "surface")
FIGURES = ("requests", "input_tokens", "cached_tokens", "output_tokens", "amount_nano")
MAX_DAYS = 366

# Values that usage is limited to, by dimension; never a day.
Only = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days in UTC, both included."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """Every day of it, the oldest first."""
        return [self.first + timedelta(days=place) for place in range((self.last - self.first).days + 1)]


@dataclass(frozen=True, slots=True)
class Row:
    """Usage of one group; a dimension it is not broken down by is None. A `key` of "" is a person in the console."""

    day: date | None
    model: str | None
    key: str | None
    surface: str | None
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    amount_nano: int


def span(start: str | None, end: str | None, *, today: date) -> Span:
    """The days of `start` and `end` (YYYY-MM-DD); 30 days until today where they are left out.

    InvalidRequest (400) for what is no day, an end before its start, and more than a year.
    """
    last = _day(end, "end_date") if end else today
    first = _day(start, "start_date") if start else last - min(timedelta(days=29), last - date.min)
    if last < first:
        raise InvalidRequest("end_date must not be before start_date.", param="end_date")
    if (last - first).days >= MAX_DAYS or last == date.max:
        raise InvalidRequest(f"At most {MAX_DAYS} days can be asked for at once.", param="start_date")
    return Span(first, last)


def recent(days: int, *, today: date) -> Span:
    """The last `days` days, today among them."""
    return Span(today - timedelta(days=days - 1), today)


def dimensions(text: str | None) -> tuple[str, ...]:
    """The dimensions of a list such as `day,model`; all of them where it is left out. InvalidRequest for others."""
    if text is None:
        return DIMENSIONS
    asked = [name for name in text.split(",") if name]
    unknown = [name for name in asked if name not in DIMENSIONS]
    if unknown:
        raise InvalidRequest(f"group_by takes {', '.join(DIMENSIONS)}, separated by commas.", param="group_by")
    return tuple(name for name in DIMENSIONS if name in asked)


def _day(text: str, param: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest(f"{param} must be a day such as 2026-01-31.", param=param) from error
