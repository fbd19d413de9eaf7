"""Idempotency keys of realtime requests whose time is over."""

from datetime import datetime, timedelta

from django.db.models import Q

from billing.models import RequestKey
from billing.request_keys import DERIVED_S, NAMED_S

# A key counts from the end of its request, which takes an hour at most.
_LONGEST = timedelta(hours=1, minutes=5)


def forget(now: datetime) -> int:
    """Delete the keys that count no longer by `now`; returns how many."""
    old = Q(is_derived=True, placed_at__lt=now - _LONGEST - timedelta(seconds=DERIVED_S))
    old |= Q(placed_at__lt=now - _LONGEST - timedelta(seconds=NAMED_S))
    forgotten, _ = RequestKey.objects.filter(old).delete()
    return forgotten
