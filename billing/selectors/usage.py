"""Reads of usage: sums of what was settled, which are the ledger's charges."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet, Sum, Value
from django.db.models.functions import TruncDate

from billing.models import UsageRecord
from billing.usage import DIMENSIONS, Row, Span

_SUMS = ("requests", "input_tokens", "cached_tokens", "output_tokens", "amount_nano")
_COLUMNS = {"day": TruncDate("at"), "model": F("model_id"), "key": F("key_id"), "surface": F("surface")}


def rows(organization_id: UUID, span: Span, by: tuple[str, ...] = DIMENSIONS) -> Iterator[Row]:
    """Usage of the days by these dimensions, newest day first, the dearest first within it."""
    broken_down = {f"by_{name}": _COLUMNS[name] for name in by}
    sums = {f"sum_{name}": Sum(name) for name in _SUMS}
    order = (["-by_day"] if "day" in by else []) + ["-sum_amount_nano", *sorted(set(broken_down) - {"by_day"})]
    grouped: QuerySet[Any, Any] = _of(organization_id, span).annotate(one=Value(1)).values("one", **broken_down)
    found = grouped.annotate(**sums).order_by(*order)
    for row in found.iterator():
        yield _row(row)


def total(organization_id: UUID, span: Span) -> Row:
    """All usage of the days together."""
    sums = _of(organization_id, span).aggregate(**{name: Sum(name, default=0) for name in _SUMS})
    return _row({f"sum_{name}": value for name, value in sums.items()})


def _of(organization_id: UUID, span: Span) -> QuerySet[UsageRecord]:
    return UsageRecord.objects.filter(organization_id=organization_id, at__gte=span.start, at__lt=span.end)


def _row(values: Mapping[str, Any]) -> Row:
    return Row(
        day=values.get("by_day"),
        model=values.get("by_model"),
        key=values.get("by_key"),
        surface=values.get("by_surface"),
        **{name: int(values[f"sum_{name}"]) for name in _SUMS},
    )
