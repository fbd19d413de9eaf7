"""The usage page: what was consumed, by day, model, key and surface, and the same as CSV."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import Member, member_page
from accounts.permissions import Action
from accounts.selectors import keys
from anex.core import clock
from anex.core.errors import InvalidRequest
from billing import csv_export, usage
from billing.selectors import usage as reads
from billing.usage import DIMENSIONS, Row, Span
from billing.views.credits import stream_csv

SHOWN = 500
_CHUNK = 1_000
_FIGURES = ("requests", "input_tokens", "cached_tokens", "output_tokens")


@never_cache
@require_safe
@member_page(Action.VIEW)
def usage_page(request: HttpRequest, member: Member) -> HttpResponse:
    """Totals and the table; a span that makes no sense shows the last 30 days and says so."""
    span, problem = _span(request)
    by = _dimensions(request)
    names = {key.pk: key.name for key in keys.of(member.organization.pk)}
    found = list(islice(reads.rows(member.organization.pk, span, by), SHOWN + 1))
    context: dict[str, Any] = {
        "rows": [(row, names.get(row.key or "")) for row in found[:SHOWN]],
        "is_cut": len(found) > SHOWN,
        "shown": SHOWN,
        "total": reads.total(member.organization.pk, span),
        "span": span,
        "by": by,
        "dimensions": DIMENSIONS,
        "problem": problem,
        "query": request.GET.urlencode(),
    }
    return render(request, "billing/usage.html", context)


@never_cache
@require_safe
@member_page(Action.VIEW)
def usage_csv(request: HttpRequest, member: Member) -> HttpResponse:
    """Every row of the page's table, sent while it is read."""
    span, _ = _span(request)
    by = _dimensions(request)
    name = f"anex-usage-{span.first}-{span.last}.csv"
    return stream_csv(_lines(reads.rows(member.organization.pk, span, by), by), name)


def _span(request: HttpRequest) -> tuple[Span, str]:
    today = clock.now().date()
    try:
        return usage.span(request.GET.get("start_date"), request.GET.get("end_date"), today=today), ""
    except InvalidRequest as error:
        return usage.span(None, None, today=today), error.message


def _dimensions(request: HttpRequest) -> tuple[str, ...]:
    asked = request.GET.getlist("by")
    return tuple(name for name in DIMENSIONS if name in asked) or DIMENSIONS


def _lines(rows: Iterator[Row], by: tuple[str, ...]) -> Iterator[str]:
    yield csv_export.lines([(*by, *_FIGURES, "cost_usd")])
    while chunk := list(islice(rows, _CHUNK)):
        yield csv_export.lines(_cells(row, by) for row in chunk)


def _cells(row: Row, by: Iterable[str]) -> list[str | int]:
    names = [csv_export.text(str(getattr(row, name) or "")) for name in by]
    return [*names, *(getattr(row, figure) for figure in _FIGURES), csv_export.dollars(row.amount_nano)]
