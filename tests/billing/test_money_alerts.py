"""E-mails about money: a balance that falls below the owner's threshold, a key that nears a ceiling."""

from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Alert, AuditEvent
from accounts.services import keys
from anex.core.actors import system
from anex.core.errors import InvalidRequest
from anex.core.money import cents_to_nano
from billing import tasks
from billing.models import BalanceAlert
from billing.selectors import balances
from billing.services import balance_alerts, holds, key_alerts, key_ceilings
from tests.factories import grant_credits, make_key, make_organization, make_user

BY = system("tests")
WEDNESDAY = datetime(2026, 9, 16, 12, tzinfo=UTC)


@pytest.fixture
def acme(db):
    organization = make_organization("Acme")
    grant_credits(organization, 1_000)
    return organization


@pytest.fixture
def ada(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client


def threshold(organization, cents=500):
    balance_alerts.configure(organization_id=organization.pk, threshold_cents=cents, actor=BY)


def hold(organization, source, cents):
    holds.place(organization_id=organization.pk, source=source, amount_nano=cents_to_nano(cents), actor=BY)


def release(source, charge_cents=0):
    holds.settle(source=source, charge_nano=cents_to_nano(charge_cents), actor=BY)


def told():
    return list(Alert.objects.order_by("pk").values_list("crossing", flat=True))


def test_nothing_is_told_without_a_threshold_or_at_the_threshold(acme):
    hold(acme, "a", 999)
    assert balance_alerts.watch(WEDNESDAY) == 0
    release("a")
    threshold(acme)
    hold(acme, "b", 500)
    assert balance_alerts.watch(WEDNESDAY) == 0


def test_balance_is_told_once_each_time_it_falls_below(acme):
    threshold(acme)
    hold(acme, "a", 501)
    assert [balance_alerts.watch(WEDNESDAY), balance_alerts.watch(WEDNESDAY)] == [1, 0]
    assert Alert.objects.get().facts == {"available": "$4.99", "threshold": "$5.00"}
    hold(acme, "b", 100)
    assert balance_alerts.watch(WEDNESDAY) == 0, "still below"
    release("a")
    assert balance_alerts.watch(WEDNESDAY) == 0, "over it again"
    hold(acme, "c", 600)
    assert balance_alerts.watch(WEDNESDAY) == 1
    assert told() == ["1", "2"]


def test_threshold_moved_over_the_balance_is_a_crossing_and_below_it_arms_again(acme):
    threshold(acme, 500)
    assert balance_alerts.watch(WEDNESDAY) == 0
    threshold(acme, 2_000)
    assert balance_alerts.watch(WEDNESDAY) == 1
    threshold(acme, 500)
    balance_alerts.watch(WEDNESDAY)
    threshold(acme, 2_000)
    assert balance_alerts.watch(WEDNESDAY) == 1
    threshold(acme, None)
    balance_alerts.watch(WEDNESDAY)
    assert not BalanceAlert.objects.get().is_low


def test_organization_that_never_had_credits_has_none_that_run_low(db):
    threshold(make_organization("Globex"))
    assert balance_alerts.watch(WEDNESDAY) == 0


@pytest.mark.parametrize("cents", [0, -1, 100_000_001, 2**64 - 1, 10**300])
def test_absurd_threshold_is_refused(acme, cents):
    with pytest.raises(InvalidRequest):
        threshold(acme, cents)
    assert not BalanceAlert.objects.exists()


@pytest.mark.parametrize("dollars", ["0", "-1", "1e308", "NaN", "Infinity", "18446744073709551615", "0.001", "x"])
def test_absurd_threshold_on_the_page_is_refused_and_the_balance_stays(ada, acme, dollars):
    answer = ada.post("/credits/alert", {"threshold": dollars})
    assert answer.status_code == 400
    assert "text-error" in answer.content.decode()
    assert not BalanceAlert.objects.exists()
    assert balances.get(acme.pk).balance_nano == cents_to_nano(1_000)


def test_threshold_is_set_and_taken_back_on_the_page(ada, acme):
    assert ada.post("/credits/alert", {"threshold": "12.50"}).status_code == 302
    assert BalanceAlert.objects.get().threshold_cents == 1_250
    assert 'value="12.5' in ada.get("/credits").content.decode()
    ada.post("/credits/alert", {"threshold": ""})
    assert BalanceAlert.objects.get().threshold_cents is None
    assert [
        event.details for event in AuditEvent.objects.filter(action="credits.low_balance_alert").order_by("pk")
    ] == [
        {"threshold_cents": 1_250},
        {"threshold_cents": None},
    ]


def spend(organization, key, source, cents, at=WEDNESDAY):
    hold(organization, source, cents)
    key_ceilings.charge(source=source, key_id=key.caller.key_id, amount_nano=cents_to_nano(cents), at=at)


def test_key_is_told_at_four_fifths_of_a_ceiling_once_a_period(acme):
    key = make_key(acme, name="nightly", daily_ceiling_cents=100, monthly_ceiling_cents=1_000)
    spend(acme, key, "a", 79)
    assert key_alerts.watch(WEDNESDAY) == 0
    spend(acme, key, "b", 1)
    assert [key_alerts.watch(WEDNESDAY), key_alerts.watch(WEDNESDAY)] == [1, 0]
    assert told() == ["daily until 2026-09-17"]
    facts = Alert.objects.get().facts
    assert (facts["name"], facts["spent"], facts["ceiling"]) == ("nightly", "$0.80", "$1.00")
    tomorrow = WEDNESDAY + timedelta(days=1)
    assert key_alerts.watch(tomorrow) == 0
    spend(acme, key, "c", 90, at=tomorrow)
    assert key_alerts.watch(tomorrow) == 1


def test_key_that_gets_back_what_was_held_and_nears_again_is_not_told_again(acme):
    key = make_key(acme, daily_ceiling_cents=100)
    spend(acme, key, "a", 90)
    key_alerts.watch(WEDNESDAY)
    release("a")
    spend(acme, key, "b", 95)
    assert key_alerts.watch(WEDNESDAY) == 0


def test_watching_asks_as_many_queries_for_many_keys_as_for_one(acme):
    def queries():
        key_alerts.watch(WEDNESDAY)
        with CaptureQueriesContext(connection) as captured:
            key_alerts.watch(WEDNESDAY)
        return len(captured)

    spend(acme, make_key(acme, daily_ceiling_cents=100), "first", 90)
    few = queries()
    for number in range(5):
        spend(acme, make_key(acme, daily_ceiling_cents=100), str(number), 90)
    assert queries() == few == 3


def test_revoked_expired_and_unlimited_keys_are_not_looked_at(acme):
    revoked = make_key(acme, daily_ceiling_cents=100)
    unlimited = make_key(acme)
    for number, key in enumerate((revoked, unlimited)):
        spend(acme, key, str(number), 100)
    keys.revoke(organization_id=acme.pk, key_id=revoked.caller.key_id, actor=BY)
    assert key_alerts.watch(WEDNESDAY) == 0


def test_the_scheduled_sweep_tells_even_when_a_step_before_it_fails(acme, monkeypatch):
    def broken(now):
        raise OSError("the gateway is away")

    monkeypatch.setattr(tasks, "SWEEPS", (broken, *tasks.SWEEPS))
    threshold(acme, 2_000)
    tasks.sweep()
    assert told() == ["1"]


@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_tell_a_crossing_once():
    organization = make_organization("Acme")
    grant_credits(organization, 100)
    threshold(organization)
    together, counts = Barrier(4), []

    def work():
        try:
            together.wait()
            counts.append(balance_alerts.watch(WEDNESDAY))
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [0, 0, 0, 1]
    assert told() == ["1"]
