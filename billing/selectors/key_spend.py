"""Reads of what keys have spent."""

from collections.abc import Iterable
from datetime import UTC, datetime

from billing import ceilings
from billing.ceilings import Spent
from billing.models import KeySpend


def of(key_ids: Iterable[str], *, at: datetime) -> dict[str, Spent]:
    """What each key has spent or holds in its present periods; keys that never spent are left out."""
    today = at.astimezone(UTC).date()
    return {
        row.key_id: ceilings.present(
            Spent(row.day_nano, row.week_nano, row.month_nano), counted_on=row.day, today=today
        )
        for row in KeySpend.objects.filter(key_id__in=list(key_ids))
    }
