"""What the tests of realtime's money share: a price, a small request, and tills in an event loop of their own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
from django.db import connection
from django.db.models import F, Q, Sum

from accounts.models import Organization
from anex.core.money import cents_to_nano
from anex.core.usage import Usage
from billing.models import Account, Hold, KeySpend, Transfer, UsageRecord
from billing.pricing import PriceCard
from realtime.till import Till

# A cent is 100 tokens in or 10 out.
CARD = msgspec.convert(
    {
        "model": "scripted",
        "starts_at": "2025-01-01T00:00:00Z",
        "text": {"input": 1},
        "realtime": {"input": 100_000_000_000, "output": 1_000_000_000_000},
    },
    PriceCard,
)
CENT = cents_to_nano(1)
# Five cents: four of output at most, one of input.
MOST = Usage(input_tokens=100, output_tokens=40)
FIVE_CENTS = 5 * CENT
# Two cents.
USED = Usage(input_tokens=100, output_tokens=10)


@asynccontextmanager
async def opened(**patience: float) -> AsyncIterator[Till]:
    till = Till()
    await till.open()
    try:
        yield till
    finally:
        await till.close(**patience)


def reap(later_s: float) -> int:
    """The sweep as it will be in so many seconds; returns how many it ended."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM billing_realtime_reap_v1(30, clock_timestamp() + %s)", [timedelta(seconds=later_s)]
        )
        return cursor.fetchone()[0]


def with_till(scene: Callable[[Till], Awaitable[Any]]) -> Any:
    """Play a scene on a till; what it settled is written when this returns."""

    async def play() -> Any:
        async with opened() as till:
            return await scene(till)

    return asyncio.run(play())


async def in_django(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call what uses Django's own connection, in a thread that gives it back."""

    def run() -> Any:
        try:
            return call(*arguments, **named)
        finally:
            connection.close()

    return await asyncio.to_thread(run)


async def admit(till: Till, key: Any, **changes: Any) -> Any:
    return await till.admit(key.header, **({"surface": "chat", "card": CARD, "most": MOST} | changes))


def check_books(organization: Organization, *, open_holds: int = 0) -> None:
    """What holds of an organization's money whenever nothing is under way."""
    account = Account.objects.get(organization=organization)
    given = Transfer.objects.filter(credit=account).aggregate(sum=Sum("amount_nano", default=0))["sum"]
    taken = Transfer.objects.filter(debit=account).aggregate(sum=Sum("amount_nano", default=0))["sum"]
    assert account.balance_nano == given - taken >= 0
    charged = Transfer.objects.filter(debit=account, kind="charge").aggregate(sum=Sum("amount_nano", default=0))["sum"]
    holds = Hold.objects.filter(account=account)
    running = holds.filter(settled_at=None)
    assert account.in_flight == running.count() == open_holds
    assert account.held_nano == running.aggregate(sum=Sum("amount_nano", default=0))["sum"]
    assert holds.aggregate(sum=Sum("captured_nano", default=0))["sum"] == charged
    assert not holds.filter(captured_nano__gt=F("amount_nano")).exists()
    records = UsageRecord.objects.filter(organization=organization)
    assert set(records.values_list("source", flat=True)) == set(
        holds.exclude(settled_at=None).values_list("source", flat=True)
    )
    assert records.aggregate(sum=Sum("amount_nano", default=0))["sum"] == charged
    spends = KeySpend.objects.filter(key_id__in=organization.keys.values("pk"))
    assert spends.aggregate(sum=Sum("day_nano", default=0))["sum"] == charged + account.held_nano
    balance = 0
    for line in Transfer.objects.filter(Q(debit=account) | Q(credit=account)).order_by("id").iterator():
        balance += line.amount_nano if line.credit_id == account.pk else -line.amount_nano
        assert line.debit_id != account.pk or line.balance_after_nano == balance
