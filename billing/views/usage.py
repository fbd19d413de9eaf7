"""The usage page: what was consumed, by day, model, key and surface, and the same as CSV."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import keys
from anex.core import clock
from anex.core.errors import InvalidRequest
from billing import csv_export, usage, usage_chart
from billing.selectors import usage as reads
from billing.usage import DIMENSIONS, FIGURES, Row, Span
from billing.views.credits import stream_csv

PAGE = 50
MOST_PAGES = 1_000
# How many groups of a dimension are listed, and offered as filters.
LISTED = 100
PRESETS = (1, 7, 30, 90, 180)
CONSOLE = "Console"
_NO_KEY = "console"
_CHUNK = 1_000
_SPLITS = ("model", "key", "surface")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for: days, filters, how the table is broken down, what the chart shows and of what."""

    span: Span
    days: int | None
    only: dict[str, str]
    by: tuple[str, ...]
    split: str
    figure: str
    problem: str


@require_safe
@member_page(Action.VIEW)
def usage_page(request: HttpRequest, member: Member) -> HttpResponse:
    """Chart, groups and table; a span that makes no sense shows the last 30 days and says so."""
    asked, organization_id, place = _asked(request), member.organization.pk, _page(request)
    found = {name: _groups(organization_id, asked.span, name, {}) for name in _SPLITS}
    groups = _groups(organization_id, asked.span, asked.split, asked.only) if asked.only else found[asked.split]
    window = {"offset": place * PAGE, "limit": PAGE + 1}
    rows = reads.page(organization_id, asked.span, asked.by, only=asked.only, **window)
    chart = _chart(organization_id, asked, groups)
    names = keys.names(organization_id, {row.key for row in (*rows, *groups, *found["key"]) if row.key})
    query = [(name, value) for name in request.GET for value in request.GET.getlist(name) if value and name != "page"]
    context: dict[str, Any] = {
        "asked": asked,
        "presets": PRESETS,
        "choices": [
            (name, request.GET.get(name, ""), [_named(row, name, names) for row in found[name]]) for name in _SPLITS
        ],
        "groups": [(_named(row, asked.split, names)[1], row) for row in groups],
        "chart": chart,
        "series": [(names.get(each.name) or each.name or CONSOLE, each.path) for each in chart.series],
        "total": reads.total(organization_id, asked.span, only=asked.only),
        "example": None if rows or reads.is_any(organization_id) else usage_chart.example(),
        "rows": [(row, names.get(row.key or "")) for row in rows[:PAGE]],
        "older": urlencode([*query, ("page", place + 1)]) if len(rows) > PAGE else "",
        "is_first_page": place == 0,
        "dimensions": DIMENSIONS,
        "splits": _SPLITS,
        "figures": usage_chart.SHOWN,
        "query": urlencode(query),
    }
    return render(request, "billing/usage.html", context)


@require_safe
@member_page(Action.VIEW)
def usage_csv(request: HttpRequest, member: Member) -> HttpResponse:
    """Every row of the page's table, sent while it is read."""
    asked = _asked(request)
    name = f"anex-usage-{asked.span.first}-{asked.span.last}.csv"
    rows = reads.rows(member.organization.pk, asked.span, asked.by, only=asked.only)
    return stream_csv(_lines(rows, asked.by), name)


def _asked(request: HttpRequest) -> Asked:
    given, today, problem = request.GET, clock.now().date(), ""
    days = next((days for days in PRESETS if given.get("days") == str(days)), None)
    try:
        span = usage.span(given.get("start_date"), given.get("end_date"), today=today)
    except InvalidRequest as error:
        span, problem = usage.span(None, None, today=today), error.message
    span = usage.recent(days, today=today) if days else span
    named = {name: given[name] for name in _SPLITS if given.get(name)}
    return Asked(
        span=span,
        days=next((days for days in PRESETS if span == usage.recent(days, today=today)), None),
        only={name: "" if (name, value) == ("key", _NO_KEY) else value for name, value in named.items()},
        by=tuple(name for name in DIMENSIONS if name in given.getlist("by")) or DIMENSIONS,
        split=next((name for name in _SPLITS if given.get("split") == name), "model"),
        figure=next((name for name in usage_chart.SHOWN if given.get("figure") == name), "amount_nano"),
        problem="" if days else problem,
    )


def _groups(organization_id: UUID, span: Span, dimension: str, only: dict[str, str]) -> list[Row]:
    """The dearest groups of a dimension."""
    return reads.page(organization_id, span, (dimension,), only=only, offset=0, limit=LISTED)


def _named(row: Row, dimension: str, names: dict[str, str]) -> tuple[str, str]:
    """A group as the address names it, and as people do; work without a key was begun in the console."""
    value = str(getattr(row, dimension))
    return (value, names.get(value, value)) if value else (_NO_KEY, CONSOLE)


def _chart(organization_id: UUID, asked: Asked, groups: list[Row]) -> usage_chart.Chart:
    largest = sorted(groups, key=lambda row: -int(getattr(row, asked.figure)))[: usage_chart.SERIES]
    names = [str(getattr(row, asked.split)) for row in largest]
    return usage_chart.draw(
        asked.span.days,
        figure=asked.figure,
        split=asked.split,
        by_day=reads.rows(organization_id, asked.span, ("day",), only=asked.only),
        parts=reads.rows(organization_id, asked.span, ("day", asked.split), only=asked.only, among=names),
        groups=names,
    )


def _page(request: HttpRequest) -> int:
    text = request.GET.get("page", "")
    return min(int(text), MOST_PAGES) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _lines(rows: Iterator[Row], by: tuple[str, ...]) -> Iterator[str]:
    yield csv_export.lines([(*by, *(name for name in FIGURES if name != "amount_nano"), "cost_usd")])
    while chunk := list(islice(rows, _CHUNK)):
        yield csv_export.lines(_cells(row, by) for row in chunk)


def _cells(row: Row, by: Iterable[str]) -> list[str | int]:
    names = [csv_export.text(str(getattr(row, name) or "")) for name in by]
    figures = [getattr(row, name) for name in FIGURES if name != "amount_nano"]
    return [*names, *figures, csv_export.dollars(row.amount_nano)]
