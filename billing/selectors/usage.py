"""Reads of usage: sums of what was settled, which are the ledger's charges; read by day, never by request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet, Sum, Value

from billing.models import UsageDay
from billing.usage import DIMENSIONS, FIGURES, Only, Row, Span

_COLUMNS = {"day": "day", "model": "model_id", "key": "key_id", "surface": "surface"}


def rows(
    organization_id: UUID,
    span: Span,
    by: tuple[str, ...] = DIMENSIONS,
    *,
    only: Only | None = None,
    among: Sequence[str] | None = None,
) -> Iterator[Row]:
    """Usage of the days by these dimensions, newest day first, the dearest first within it.

    `among` limits the last of the dimensions to some values.
    """
    found = _grouped(organization_id, span, by, only)
    if among is not None:
        found = found.filter(**{f"{_COLUMNS[by[-1]]}__in": among})
    for row in found.iterator():
        yield _row(row)


def page(
    organization_id: UUID, span: Span, by: tuple[str, ...], *, only: Only | None, offset: int, limit: int
) -> list[Row]:
    """Some of `rows`, from `offset` on; the order of groups is by their sums, so there is no key to start from."""
    return [_row(row) for row in _grouped(organization_id, span, by, only)[offset : offset + limit]]


def total(organization_id: UUID, span: Span, *, only: Only | None = None) -> Row:
    """All usage of the days together."""
    sums = _of(organization_id, span, only).aggregate(**{name: Sum(name, default=0) for name in FIGURES})
    return _row({f"sum_{name}": value for name, value in sums.items()})


def is_any(organization_id: UUID) -> bool:
    """Whether anything was ever used."""
    return UsageDay.objects.filter(organization_id=organization_id).exists()


def _grouped(organization_id: UUID, span: Span, by: tuple[str, ...], only: Only | None) -> QuerySet[Any, Any]:
    broken_down = {f"by_{name}": F(_COLUMNS[name]) for name in by}
    sums = {f"sum_{name}": Sum(name) for name in FIGURES}
    order = (["-by_day"] if "day" in by else []) + ["-sum_amount_nano", *sorted(set(broken_down) - {"by_day"})]
    grouped: QuerySet[Any, Any] = _of(organization_id, span, only).annotate(one=Value(1)).values("one", **broken_down)
    found: QuerySet[Any, Any] = grouped.annotate(**sums).order_by(*order)
    return found


def _of(organization_id: UUID, span: Span, only: Only | None) -> QuerySet[UsageDay]:
    wanted = {_COLUMNS[name]: value for name, value in (only or {}).items()}
    # A day whose only record moved to another day is left behind at nothing.
    return UsageDay.objects.filter(
        organization_id=organization_id, day__gte=span.first, day__lte=span.last, **wanted
    ).exclude(**dict.fromkeys(FIGURES, 0))


def _row(values: Mapping[str, Any]) -> Row:
    return Row(
        day=values.get("by_day"),
        model=values.get("by_model"),
        key=values.get("by_key"),
        surface=values.get("by_surface"),
        **{name: int(values[f"sum_{name}"]) for name in FIGURES},
    )
