"""Grants with an end: spent first, taken back once, never below what is held."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import AuditEvent, Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import InvalidRequest
from anex.core.money import cents_to_nano
from billing.expiry import Expiring, unspent
from billing.models import Grant, Transfer
from billing.selectors import balances
from billing.selectors import grants as reads
from billing.services import corrections, grants, holds
from billing.tasks import sweep

ACTOR = system("tests")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def give(organization, cents, source, days=30):
    end = clock.now() + timedelta(days=days) if days else None
    return grants.give(
        organization_id=organization.pk, cents=cents, reason="trial", source=source, actor=ACTOR, expires_at=end
    )


def spend(organization, cents, source="job:1"):
    holds.place(organization_id=organization.pk, source=source, amount_nano=cents_to_nano(cents), actor=ACTOR)
    holds.settle(source=source, charge_nano=cents_to_nano(cents), actor=ACTOR)


def expire(days=31):
    return grants.expire_due(clock.now() + timedelta(days=days))


def balance_cents(organization):
    return balances.get(organization.pk).balance_nano // 10**7


def test_unspent_rest_is_taken_back_once(organization):
    give(organization, 1_000, "g")
    spend(organization, 300)
    assert expire() == 1
    assert expire() == 0
    line = Transfer.objects.get(kind="expiry")
    assert (line.source, line.amount_nano, line.debit.organization) == ("g:expiry", cents_to_nano(700), organization)
    assert balance_cents(organization) == 0


def test_grant_is_whole_until_its_time(organization):
    give(organization, 1_000, "g")
    assert expire(days=29) == 0
    assert [ending.amount_nano for ending in reads.ending(organization.pk)] == [cents_to_nano(1_000)]


def test_spent_grant_ends_without_a_line(organization):
    give(organization, 1_000, "g")
    spend(organization, 1_000)
    assert expire() == 1
    assert not Transfer.objects.filter(kind="expiry").exists()
    assert reads.ending(organization.pk) == []


def test_credits_that_stay_are_spent_after_those_that_expire(organization):
    give(organization, 500, "stays", days=0)
    give(organization, 500, "ends")
    spend(organization, 400)
    expire()
    assert balance_cents(organization) == 500


def test_what_was_spent_before_a_grant_is_not_taken_from_it(organization):
    give(organization, 500, "stays", days=0)
    spend(organization, 400)
    give(organization, 500, "ends")
    expire()
    assert balance_cents(organization) == 100


def test_what_is_held_at_the_end_counts_as_spent_and_stays(organization):
    give(organization, 1_000, "g")
    holds.place(organization_id=organization.pk, source="job:1", amount_nano=cents_to_nano(600), actor=ACTOR)
    expire()
    assert balances.get(organization.pk).available_nano == 0
    holds.settle(source="job:1", charge_nano=cents_to_nano(600), actor=ACTOR)
    assert balance_cents(organization) == 0


def test_what_is_released_after_the_end_is_taken_back_then_and_once(organization):
    give(organization, 1_000, "g")
    give(organization, 500, "stays", days=0)
    holds.place(organization_id=organization.pk, source="job:1", amount_nano=cents_to_nano(600), actor=ACTOR)
    holds.place(organization_id=organization.pk, source="job:2", amount_nano=cents_to_nano(300), actor=ACTOR)
    assert [expire(), expire()] == [1, 0]
    assert balance_cents(organization) == 1_400
    holds.settle(source="job:1", charge_nano=cents_to_nano(100), actor=ACTOR)
    expire()
    assert balance_cents(organization) == 800
    holds.settle(source="job:2", charge_nano=0, actor=ACTOR)
    for _ in range(2):
        expire()
        assert balances.get(organization.pk).available_nano == cents_to_nano(500)
    lines = Transfer.objects.filter(kind="expiry").order_by("pk")
    assert [line.amount_nano // 10**7 for line in lines] == [100, 500, 300]
    assert Grant.objects.get().expired_nano == cents_to_nano(900)


def test_credits_paid_after_the_end_are_not_taken_for_what_was_owed_then(organization):
    give(organization, 1_000, "g")
    holds.place(organization_id=organization.pk, source="job:1", amount_nano=cents_to_nano(200), actor=ACTOR)
    corrections.adjust(organization_id=organization.pk, cents=-800, reason="r", source="c", actor=ACTOR)
    expire()
    give(organization, 700, "paid", days=0)
    holds.settle(source="job:1", charge_nano=0, actor=ACTOR)
    expire()
    expire()
    assert balance_cents(organization) == 700


def test_hold_of_an_ended_grant_does_not_lengthen_the_next(organization):
    give(organization, 1_000, "first", days=10)
    give(organization, 1_000, "second", days=20)
    holds.place(organization_id=organization.pk, source="job:1", amount_nano=cents_to_nano(600), actor=ACTOR)
    expire(days=11)
    holds.settle(source="job:1", charge_nano=cents_to_nano(600), actor=ACTOR)
    expire(days=21)
    assert balance_cents(organization) == 0


def test_expiry_never_makes_a_debt(organization):
    give(organization, 1_000, "g")
    corrections.adjust(organization_id=organization.pk, cents=-800, reason="r", source="c", actor=ACTOR)
    expire()
    assert balance_cents(organization) == 0


def test_grant_that_would_end_at_once_is_refused(organization):
    with pytest.raises(InvalidRequest, match="Choose a later day"):
        give(organization, 1_000, "g", days=-1)
    assert not Transfer.objects.exists()


def test_same_source_gives_one_grant_with_an_end(organization):
    assert give(organization, 1_000, "g")
    assert not give(organization, 1_000, "g")
    assert Grant.objects.count() == 1


def test_grant_leaves_an_audit_event_with_amount_and_reason(organization):
    give(organization, 1_000, "g")
    event = AuditEvent.objects.get(action="credits.grant")
    assert (event.target, event.reason, event.organization) == ("g", "trial", organization)


def test_sweep_task_expires_what_is_due(organization):
    give(organization, 1_000, "g")
    Grant.objects.update(expires_at=clock.now())
    sweep()
    assert balance_cents(organization) == 0


@pytest.mark.django_db(transaction=True)
def test_ten_sweeps_at_once_take_a_grant_back_once():
    organization = Organization.objects.create(name="Acme")
    give(organization, 1_000, "g")

    def run(_):
        try:
            return expire()
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(run, range(10)))
    assert Transfer.objects.filter(kind="expiry").count() == 1
    assert balance_cents(organization) == 0


amounts = st.integers(1, 30)


@given(
    st.lists(st.tuples(amounts, st.integers(1, 9), st.none() | st.integers(0, 10)), min_size=1, max_size=5),
    st.lists(st.integers(0, 40), min_size=5, max_size=5),
    st.integers(0, 40),
)
def test_unspent_is_what_paying_unit_by_unit_leaves(rows, spent, held):
    moment = EPOCH
    given_grants = [
        Expiring(
            str(i), size, moment + timedelta(days=i), moment + timedelta(days=100 + end), taken and min(taken, size)
        )
        for i, (size, end, taken) in enumerate(rows)
    ]
    spent = spent[: len(given_grants)]
    purse = {grant.source: grant.spendable_nano for grant in given_grants}
    for place, nano in enumerate([*spent, held]):
        for _ in range(nano):
            ready = [grant for grant in given_grants[: place + 1] if purse[grant.source]]
            if ready:
                first = min(ready, key=lambda grant: (grant.expires_at, grant.given_at, grant.source))
                purse[first.source] -= 1
    assert unspent(given_grants, spent, held) == purse
