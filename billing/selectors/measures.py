"""Money and requests of all organizations together, for whoever watches the installation."""

from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import Sum

from anex.core import clock
from billing.models import Account, UsageDay

# Requests whose process died are settled at nothing by whoever renews next; those that stay open are behind.
_OPEN: Final = """
SELECT count(*), coalesce(max(extract(epoch FROM now() - least(h.expires_at, p.expires_at))), 0)::float
FROM billing_hold h LEFT JOIN billing_holder p ON p.id = h.holder_id
WHERE h.settled_at IS NULL AND h.holder_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was settled since midnight (UTC) of a model on a surface."""

    surface: str
    model_id: str
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    amount_nano: int


@dataclass(frozen=True, slots=True)
class Requests:
    """Realtime requests now; `lag_s` says for how long the oldest that nobody settles should have been."""

    in_flight: int
    holds: int
    lag_s: float


def usage_today() -> list[Usage]:
    """By surface and model."""
    days = UsageDay.objects.filter(day=clock.now().date()).values_list("surface", "model_id")
    sums = days.annotate(
        Sum("requests"), Sum("input_tokens"), Sum("cached_tokens"), Sum("output_tokens"), Sum("amount_nano")
    )
    return [Usage(*row) for row in sums.order_by("surface", "model_id")]


def requests_now() -> Requests:
    """Of every process."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN)
        holds, lag_s = cursor.fetchone()
    in_flight = Account.objects.aggregate(all=Sum("in_flight"))["all"] or 0
    return Requests(in_flight, holds, max(0.0, lag_s))
