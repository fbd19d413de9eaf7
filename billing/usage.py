"""Words of usage: how it is broken down, and over which days. Pure."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from anex.core.errors import InvalidRequest

DIMENSIONS = ("day", "model", "key", "surface")
MAX_DAYS = 366


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days in UTC, both included."""

    first: date
    last: date

    @property
    def start(self) -> datetime:
        """The moment the first day begins."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        """The moment the last day is over."""
        return datetime.combine(self.last + timedelta(days=1), time(), UTC)


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
