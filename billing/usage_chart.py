"""A chart of usage by day: stacked bars as the paths of a drawing, ten units wide for each day and 100 high. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from billing.usage import Row

# What a chart can show, by the figure of a row.
SHOWN = {
    "amount_nano": "Charged",
    "requests": "Requests",
    "input_tokens": "Input tokens",
    "output_tokens": "Output tokens",
}
# How many groups have a colour of their own; the rest share one.
SERIES = 6
OTHERS = "others"
_HEIGHT, _STEP, _BAR = 100, 10, 8
_POINTED_AT = 92


@dataclass(frozen=True, slots=True)
class Day:
    """One day: where it stands, and everything of it."""

    day: date
    x: int
    row: Row | None


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one group, as the `d` of a path; `name` is its value of the dimension, OTHERS the rest."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` is what the highest bar stands for, in the figure's own unit."""

    width: int
    days: list[Day]
    series: list[Series]
    most: int

    @property
    def has_room(self) -> bool:
        """Whether a day is wide enough to point at."""
        return len(self.days) <= _POINTED_AT


def draw(
    days: Sequence[date], *, figure: str, split: str, by_day: Iterable[Row], parts: Iterable[Row], groups: Sequence[str]
) -> Chart:
    """Bars of `days`, stacked by the groups named, of which `parts` are the figures by day; the rest is on top."""
    whole = {row.day: row for row in by_day}
    most = max((getattr(row, figure) for row in whole.values()), default=0)
    figures = {(row.day, getattr(row, split)): getattr(row, figure) for row in parts}
    paths: dict[str, list[str]] = {name: [] for name in (*groups, OTHERS)}
    for place, day in enumerate(days if most else ()):
        amounts = {name: figures.get((day, name), 0) for name in groups}
        amounts[OTHERS] = (getattr(whole[day], figure) if day in whole else 0) - sum(amounts.values())
        bottom = 0
        for name, amount in amounts.items():
            if amount:
                paths[name].append(_rectangle(place, bottom / most, (bottom + amount) / most))
            bottom += amount
    return Chart(
        width=_STEP * len(days),
        days=[Day(day, _STEP * place, whole.get(day)) for place, day in enumerate(days)],
        series=[Series(name, "".join(drawn)) for name, drawn in paths.items() if drawn],
        most=most,
    )


def example() -> Chart:
    """A month of two made-up groups, for a page that has nothing of its own to draw yet."""
    lower, upper = [], []
    for place in range(30):
        middle = (14 + place + place * 37 % 23) / 100
        lower.append(_rectangle(place, 0, middle))
        upper.append(_rectangle(place, middle, middle + (6 + place * 53 % 19) / 100))
    series = [Series("", "".join(paths)) for paths in (lower, upper)]
    return Chart(width=30 * _STEP, days=[], series=series, most=1)


def _rectangle(place: int, low: float, high: float) -> str:
    height = _HEIGHT * (high - low)
    return f"M{_STEP * place + 1} {_HEIGHT * (1 - high):.2f}h{_BAR}v{height:.2f}h-{_BAR}z"
