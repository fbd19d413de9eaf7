"""Holds that nobody settled: of killed processes, of requests past their end, of admissions a crash lost."""

import asyncio
import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import Unavailable
from billing import requests
from billing.models import Account, Hold, UsageRecord
from billing.selectors import balances
from billing.services import corrections, lost_requests
from realtime.database import Away
from tests.realtime.tills import (
    CENT,
    USED,
    admit,
    check_books,
    in_django,
    reap,
    with_till,
)

pytestmark = pytest.mark.django_db(transaction=True)


CHILD = """
import asyncio, sys
import django
django.setup()
from tests.realtime.tills import CARD, MOST
from realtime.till import Till

async def main():
    till = Till()
    await till.open()
    meters = [await till.admit(sys.argv[1], surface="chat", card=CARD, most=MOST) for _ in range(8)]
    print("holding", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_killed_process_frees_slots_and_holds_within_a_minute(key):
    organization = Organization.objects.get()
    named = connection.settings_dict["NAME"]
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "anex.settings.test",
        "DATABASE_URL": os.environ["DATABASE_URL"].replace("/anex?", f"/{named}?"),
    }
    child = subprocess.Popen([sys.executable, "-c", CHILD, key.header], env=environment, stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"holding\n"
        check_books(organization, open_holds=8)
        assert reap(5) == 0
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert reap(60) == 8
    check_books(organization)
    assert set(Hold.objects.values_list("captured_nano", flat=True)) == {0}
    assert set(UsageRecord.objects.values_list("status", "amount_nano")) == {("lost", 0)}
    assert reap(60) == 0

    async def scene(till):
        for _ in range(8):
            await admit(till, key)

    with_till(scene)


def test_living_process_is_not_buried_and_learns_when_it_was(key):
    async def scene(till):
        before = till._holder.id
        with await admit(till, key) as meter:
            assert await in_django(reap, 20) == 0
            await till._holder.renew()
            assert till._holder.id == before
            assert await in_django(reap, 31) == 1
            await till._holder.renew()
            assert till._holder.id != before
            meter.report(USED)

    with_till(scene)
    record = UsageRecord.objects.get()
    assert (record.status, record.amount_nano) == ("answered", 2 * CENT)
    assert Hold.objects.get().lost_at
    check_books(record.organization)


def test_hold_ends_by_itself_although_its_process_lives(key):
    async def scene(till):
        with await admit(till, key) as meter:
            await in_django(Hold.objects.update, expires_at=clock.now())
            assert await in_django(lost_requests.settle, clock.now()) == 1
            meter.report(USED)

    with_till(scene)
    assert UsageRecord.objects.get().status == "answered"
    check_books(Organization.objects.get())


def test_admission_that_is_done_after_it_was_given_up_holds_nothing_for_long(key, monkeypatch, caplog):
    late = []

    async def scene(till):
        ask = till._database.ask

        async def give_up(statement, values):
            if statement != requests.ADMIT:
                return await ask(statement, values)
            late.append(values)
            raise Away("OperationalError", sent=True)

        with monkeypatch.context() as away:
            away.setattr(till._database, "ask", give_up)
            with pytest.raises(Unavailable):
                await admit(till, key)
        while till._writer._unacknowledged:
            await asyncio.sleep(0.01)
        # It was on its way, or waited for a lock.
        await ask(requests.ADMIT, late[0])
        # This one is known, and the other too young to be unknown.
        with await admit(till, key) as meter:
            await till._holder.end_unknown()
            await in_django(Hold.objects.update, placed_at=F("placed_at") - timedelta(seconds=31))
            await till._holder.end_unknown()
            meter.report(USED)

    with_till(scene)
    assert sorted(UsageRecord.objects.values_list("status", "amount_nano")) == [("answered", 2 * CENT), ("left", 0)]
    assert caplog.text.count("after it was given up") == 1
    check_books(Organization.objects.get())


def test_late_settlement_charges_what_is_there_and_no_more(key, caplog):
    organization = Organization.objects.get()

    async def scene(till):
        with await admit(till, key) as meter:
            await in_django(reap, 31)
            await in_django(
                corrections.adjust,
                organization_id=organization.pk,
                cents=-9_999,
                reason="r",
                source="take",
                actor=system("tests"),
            )
            meter.report(USED)

    with_till(scene)
    assert UsageRecord.objects.get().amount_nano == CENT
    assert balances.get(organization.pk).balance_nano == 0
    assert f"settled late: {CENT} of {2 * CENT}" in caplog.text


def test_admission_that_a_crash_of_the_database_lost_is_charged_all_the_same(key):
    organization = Organization.objects.get()

    async def scene(till):
        with await admit(till, key) as meter:
            await in_django(Hold.objects.all().delete)
            await in_django(Account.objects.filter(organization=organization).update, held_nano=0, in_flight=0)
            meter.report(USED)

    with_till(scene)
    assert UsageRecord.objects.get().amount_nano == 2 * CENT
    assert Hold.objects.get().captured_nano == 2 * CENT
    assert balances.get(organization.pk).balance_nano == 9_998 * CENT
