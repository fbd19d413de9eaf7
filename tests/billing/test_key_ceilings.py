"""A key's ceilings: counted under one lock, by day, week and month in UTC, given back when a hold is settled."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connections, transaction

from anex.core.actors import system
from anex.core.errors import InsufficientQuota, NotFound
from anex.core.money import cents_to_nano
from billing.ceilings import Spent, present, starts_anew
from billing.models import Hold, KeySpend
from billing.selectors import balances, key_spend
from billing.services import holds, key_ceilings
from tests.factories import grant_credits, make_key, make_organization

WEDNESDAY = datetime(2026, 7, 29, 12, tzinfo=UTC)
ACTOR = system("tests")


@pytest.fixture
def acme(db):
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@transaction.atomic
def spend(key, cents, *, source, at=WEDNESDAY):
    """Hold an amount and count it, as an approval does."""
    organization_id, amount = key.caller.organization_id, cents_to_nano(cents)
    holds.place(organization_id=organization_id, source=source, amount_nano=amount, actor=ACTOR)
    return key_ceilings.charge(source=source, key_id=key.caller.key_id, amount_nano=amount, at=at)


def spent(key, at=WEDNESDAY):
    return key_spend.of([key.caller.key_id], at=at).get(key.caller.key_id, Spent())


@pytest.mark.parametrize("period", ["daily", "weekly", "monthly"])
def test_key_spends_up_to_its_ceiling_and_not_a_cent_further(acme, period):
    key = make_key(acme, **{f"{period}_ceiling_cents": 100})
    spend(key, 60, source="a")
    spend(key, 40, source="b")
    with pytest.raises(InsufficientQuota) as refused:
        spend(key, 1, source="c")
    error = refused.value
    assert (error.status, error.code, error.extra["type"]) == (429, "key_credit_ceiling", "insufficient_quota")
    assert (error.extra["ceiling"], error.extra["spent"]) == (100, 100)
    assert period in error.message


def test_refused_charge_leaves_neither_hold_nor_count(acme):
    key = make_key(acme, daily_ceiling_cents=100)
    with pytest.raises(InsufficientQuota):
        spend(key, 101, source="a")
    assert not Hold.objects.exists()
    assert balances.get(acme.pk).held_nano == 0
    assert spent(key) == Spent()


def test_settlement_gives_back_what_it_releases(acme):
    key = make_key(acme, monthly_ceiling_cents=100)
    spend(key, 100, source="a")
    holds.settle(source="a", charge_nano=cents_to_nano(30), actor=ACTOR)
    assert spent(key) == Spent(cents_to_nano(30), cents_to_nano(30), cents_to_nano(30))
    spend(key, 70, source="b")
    holds.settle(source="a", charge_nano=0, actor=ACTOR)
    assert spent(key).month_nano == cents_to_nano(100)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (datetime(2026, 7, 29, 23, 59, 59, tzinfo=UTC), (100, 100, 100)),
        (datetime(2026, 7, 30, tzinfo=UTC), (0, 100, 100)),
        (datetime(2026, 8, 1, tzinfo=UTC), (0, 100, 0)),
        (datetime(2026, 8, 3, tzinfo=UTC), (0, 0, 0)),
    ],
)
def test_periods_start_anew_by_the_calendar_of_utc(acme, later, expected):
    key = make_key(acme)
    spend(key, 100, source="a")
    day, week, month = (cents_to_nano(cents) for cents in expected)
    assert spent(key, later) == Spent(day, week, month)
    spend(key, 1, source="b", at=later)
    one = cents_to_nano(1)
    assert spent(key, later) == Spent(day + one, week + one, month + one)


def test_release_of_an_older_day_leaves_the_present_one_alone(acme):
    key = make_key(acme)
    spend(key, 100, source="a")
    tomorrow = WEDNESDAY + timedelta(days=1)
    spend(key, 10, source="b", at=tomorrow)
    holds.settle(source="a", charge_nano=0, actor=ACTOR)
    ten = cents_to_nano(10)
    assert spent(key, tomorrow) == Spent(ten, ten, ten)


def test_clock_that_is_behind_counts_in_the_later_day(acme):
    key = make_key(acme, daily_ceiling_cents=100)
    spend(key, 60, source="a", at=datetime(2026, 7, 30, 0, 0, 1, tzinfo=UTC))
    with pytest.raises(InsufficientQuota):
        spend(key, 60, source="b", at=datetime(2026, 7, 29, 23, 59, 59, tzinfo=UTC))
    spend(key, 40, source="c", at=datetime(2026, 7, 29, 23, 59, 59, tzinfo=UTC))
    holds.settle(source="c", charge_nano=0, actor=ACTOR)
    assert spent(key, datetime(2026, 7, 30, tzinfo=UTC)).day_nano == cents_to_nano(60)


def test_one_hold_counts_once(acme):
    key = make_key(acme)
    assert spend(key, 5, source="a")
    assert not spend(key, 5, source="a")
    assert spent(key).day_nano == cents_to_nano(5)


def test_lowered_ceiling_holds_for_what_is_spent_already(acme):
    key = make_key(acme)
    spend(key, 50, source="a")
    acme.keys.update(daily_ceiling_cents=40)
    with pytest.raises(InsufficientQuota) as refused:
        spend(key, 1, source="b")
    assert refused.value.extra["spent"] == 50


def test_foreign_key_and_unknown_hold_are_not_found(acme):
    foreign, key = make_key(make_organization("Globex")), make_key(acme)
    holds.place(organization_id=acme.pk, source="a", amount_nano=1, actor=ACTOR)
    with pytest.raises(NotFound):
        key_ceilings.charge(source="a", key_id=foreign.caller.key_id, amount_nano=1, at=WEDNESDAY)
    with pytest.raises(NotFound):
        key_ceilings.charge(source="b", key_id=key.caller.key_id, amount_nano=1, at=WEDNESDAY)


@pytest.mark.django_db(transaction=True)
def test_forty_at_once_never_pass_the_ceiling_and_the_count_equals_the_holds():
    acme = make_organization("Acme")
    grant_credits(acme)
    key = make_key(acme, daily_ceiling_cents=200, weekly_ceiling_cents=300)
    dice = random.Random(4)
    amounts = [dice.randint(5, 30) for _ in range(40)]

    def one(number):
        try:
            spend(key, amounts[number], source=f"job:{number}")
            if number % 3 == 0:
                holds.settle(source=f"job:{number}", charge_nano=cents_to_nano(amounts[number] // 2), actor=ACTOR)
        except InsufficientQuota:
            return 0
        finally:
            connections.close_all()
        return 1

    with ThreadPoolExecutor(20) as pool:
        passed = sum(pool.map(one, range(40)))
    assert 0 < passed < 40
    counted = sum(hold.amount_nano if hold.settled_at is None else hold.captured_nano for hold in Hold.objects.all())
    row = KeySpend.objects.get()
    assert row.day_nano == row.week_nano == row.month_nano == counted
    assert counted <= cents_to_nano(200)


@pytest.mark.parametrize(
    ("period", "today", "begins"),
    [
        ("daily", date(2026, 12, 31), date(2027, 1, 1)),
        ("weekly", date(2026, 11, 29), date(2026, 11, 30)),
        ("weekly", date(2026, 11, 30), date(2026, 12, 7)),
        ("monthly", date(2026, 1, 31), date(2026, 2, 1)),
        ("monthly", date(2026, 12, 1), date(2027, 1, 1)),
    ],
)
def test_next_period_begins_on(period, today, begins):
    assert starts_anew(period, today) == begins


def test_what_was_counted_stands_until_its_period_is_over():
    spent_then = Spent(1, 2, 3)
    assert present(spent_then, counted_on=date(2026, 7, 29), today=date(2026, 7, 29)) == spent_then
    assert present(spent_then, counted_on=date(2026, 7, 29), today=date(2026, 8, 2)) == Spent(0, 2, 0)
