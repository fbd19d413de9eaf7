"""Nothing is lost and nothing paid twice, whatever the database answers and however many run at once."""

import asyncio
import random
import threading

import psycopg
import pytest
from django.db import connection, transaction

from accounts.models import Organization
from accounts.services import organizations
from anex.core.actors import system
from anex.core.errors import InvalidRequest, PaymentRequired, TooManyRequests, Unavailable
from anex.core.usage import Usage
from billing.models import Account, Transfer, UsageRecord
from billing.selectors import balances
from billing.services import corrections
from realtime import settlement
from realtime.database import Away, Database
from tests.factories import grant_credits, make_key, make_organization
from tests.realtime.tills import (
    CENT,
    USED,
    admit,
    check_books,
    in_django,
    opened,
    reap,
    with_till,
)

pytestmark = pytest.mark.django_db(transaction=True)


def without_limit(organization: Organization) -> None:
    organizations.limit_in_flight(organization_id=organization.pk, limit=1_000, actor=system("tests"), reason="r")


class Flaky(Database):
    """Loses answers: a statement is done, or not, and its caller hears of neither. Loses what was settled."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)

    async def ask(self, statement, values):
        """Sometimes fails before, sometimes after it was done."""
        if "renew" in statement or "reap" in statement:
            return await super().ask(statement, values)
        if self.random.random() < 0.2:
            raise Away("before", sent=True)
        if "settle" in statement and self.random.random() < 0.2:
            return await forget(self, statement, values)
        rows = await super().ask(statement, values)
        if "settle" in statement and self.random.random() < 0.4:
            raise Away("after", sent=True)
        if "admit" in statement and self.random.random() < 0.2:
            raise Away("after", sent=True)
        return rows


async def forget(database: Database, statement, values):
    """As a server does that crashes before it has written to its disk."""
    async with database._pool.connection() as session, session.transaction(force_rollback=True):
        return await (await session.execute(statement, values)).fetchall()


@pytest.mark.parametrize("seed", range(4))
def test_no_lost_answer_loses_or_doubles_a_settlement(key, seed, monkeypatch):
    monkeypatch.setattr("realtime.till.Database", lambda: Flaky(seed))
    monkeypatch.setattr(settlement, "LONGEST_WAIT_S", 0.05)
    organization = Organization.objects.get()
    without_limit(organization)
    paid = [0]

    async def one(till):
        try:
            with await admit(till, key) as meter:
                meter.report(USED)
                await asyncio.sleep(0.001)
            paid[0] += 1
        except Unavailable:
            pass

    async def scene():
        async with opened(patience_s=60) as till:
            for _ in range(20):
                await asyncio.gather(*(one(till) for _ in range(4)))

    asyncio.run(scene())
    assert paid[0] > 20
    assert Transfer.objects.filter(kind="charge").count() == paid[0]
    check_books(organization)


def test_settlement_that_a_crash_lost_is_written_again(key, monkeypatch, caplog):
    forgotten = []

    class Forgetful(Database):
        async def ask(self, statement, values):
            if "settle" in statement and not forgotten:
                forgotten.extend(await forget(self, statement, values))
                return forgotten
            return await super().ask(statement, values)

    monkeypatch.setattr("realtime.till.Database", Forgetful)

    async def scene():
        async with opened() as till:
            with await admit(till, key) as meter:
                meter.report(USED)

    asyncio.run(scene())
    ((source, outcome, charged),) = forgotten
    assert (outcome, charged) == ("settled", 2 * CENT)
    assert f"{source} was lost by the database and is settled again" in caplog.text
    assert Transfer.objects.get(kind="charge").amount_nano == 2 * CENT
    check_books(Organization.objects.get())


@pytest.mark.parametrize(
    "failing",
    [
        # As a standby that everybody was sent to answers, and a database whose migrations are still to come.
        "FROM set_config('transaction_read_only', 'on', true) o, billing_realtime_settle_v2((%s || left(o, 0))::json)",
        "FROM billing_realtime_settle_v0(%s::json)",
    ],
)
def test_settlement_waits_for_a_database_that_cannot_take_it(key, monkeypatch, failing):
    monkeypatch.setattr(settlement, "LONGEST_WAIT_S", 0.05)
    failures = [0]

    class Unfit(Database):
        async def ask(self, statement, values):
            if "settle" not in statement or failures[0] == 3:
                return await super().ask(statement, values)
            failures[0] += 1
            return await super().ask(statement.partition("FROM")[0] + failing, values)

    async def scene():
        async with opened(patience_s=10) as till:
            with await admit(till, key) as meter:
                meter.report(USED)

    monkeypatch.setattr("realtime.till.Database", Unfit)
    asyncio.run(scene())
    assert failures == [3]
    assert Transfer.objects.get(kind="charge").amount_nano == 2 * CENT
    check_books(Organization.objects.get())


def test_database_that_cannot_admit_is_away(key, monkeypatch):
    class Unfit(Database):
        async def ask(self, statement, values):
            return await super().ask(statement.replace("admit_v1", "admit_v0"), values)

    async def scene(till):
        with pytest.raises(Unavailable) as refused:
            await admit(till, key)
        assert refused.value.retry_after == 1

    monkeypatch.setattr("realtime.till.Database", Unfit)
    with_till(scene)


def test_sessions_that_end_in_the_middle_lose_nothing(key):
    """As a restart of the server does, again and again, while requests come and go."""
    organization = Organization.objects.get()
    counts = {"answered": 0, "away": 0}
    without_limit(organization)

    async def one(till):
        try:
            with await admit(till, key) as meter:
                meter.report(USED)
                await asyncio.sleep(0.005)
            counts["answered"] += 1
        except Unavailable as error:
            assert error.retry_after == 1
            counts["away"] += 1

    def cut():
        with psycopg.connect(**connection.get_connection_params() | {"autocommit": True}) as own:
            own.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND query LIKE %s AND pid <> pg_backend_pid()",
                [connection.settings_dict["NAME"], "%billing_realtime%"],
            )

    async def scene():
        async with opened(patience_s=60) as till:
            for _ in range(12):
                waves = [asyncio.create_task(one(till)) for _ in range(20)]
                await asyncio.to_thread(cut)
                await asyncio.gather(*waves)
            for _ in range(5):
                await one(till)
                await asyncio.sleep(0.05)

    asyncio.run(scene())
    assert counts["answered"] > 12
    assert Transfer.objects.filter(kind="charge").count() == counts["answered"]
    check_books(organization)


async def live(till, key, dice, ended):
    """One request that ends in some way."""
    try:
        with await admit(till, key) as meter:
            ended["admitted"] += 1
            await asyncio.sleep(dice.random() * 0.004)
            meter.report(Usage(input_tokens=dice.randrange(150), output_tokens=dice.randrange(60)))
            error = dice.choice([None, asyncio.CancelledError(), InvalidRequest("no"), RuntimeError("died")])
            if error:
                raise error
            await meter.finish()
    except PaymentRequired:
        ended["poor"] += 1
    except (asyncio.CancelledError, InvalidRequest, RuntimeError, TooManyRequests):
        pass


def test_random_lives_keep_the_books(key):
    """Many at once in two processes, ending in every way, under a watch, until the balance runs out."""
    organization = Organization.objects.get()
    corrections.adjust(
        organization_id=organization.pk, cents=150 - 10_000, reason="r", source="less", actor=system("tests")
    )
    dice = random.Random(7)
    ended = {"admitted": 0, "poor": 0}
    stop = []

    async def worker(till):
        for _ in range(25):
            await live(till, key, dice, ended)

    def watch():
        while not stop:
            assert balances.get(organization.pk).available_nano >= 0
            assert Account.objects.get(organization=organization).in_flight <= 8
            assert reap(0) == 0

    async def scene():
        async with opened() as first, opened() as second:
            watching = asyncio.create_task(in_django(watch))
            await asyncio.gather(*(worker(till) for till in (first, second) for _ in range(4)))
            stop.append(True)
            await watching

    asyncio.run(scene())
    assert ended["poor"] > 0
    assert UsageRecord.objects.count() == ended["admitted"]
    check_books(organization)


def test_locked_account_holds_up_nobody_else_and_is_settled_when_it_is_free(key):
    locked = Organization.objects.get()
    other = make_organization("Globex")
    grant_credits(other)
    theirs = make_key(other)
    release = threading.Event()

    def lock(taken):
        with transaction.atomic():
            Account.objects.select_for_update().get(organization=locked)
            taken()
            release.wait(20)

    async def scene(till):
        meters = [await admit(till, one) for one in (key, key, key, theirs, theirs)]
        taken = asyncio.Event()
        loop = asyncio.get_running_loop()
        locking = asyncio.create_task(in_django(lock, lambda: loop.call_soon_threadsafe(taken.set)))
        await taken.wait()
        for meter in meters:
            meter.report(USED)
            meter.end("answered")
        async with asyncio.timeout(15):
            await till._writer.written(meters[-1].admitted.source)
        with pytest.raises(Unavailable):
            await admit(till, key)
        assert len(till._writer._unacknowledged) == 3
        # Only those wait for the lock, a second each time: the queue is free for everybody else.
        async with asyncio.timeout(2.7):
            for _ in range(3):
                with await admit(till, theirs) as meter:
                    meter.report(USED)
                await till._writer.written(meter.admitted.source)
        release.set()
        await locking

    with_till(scene)
    for organization, records in ((locked, 3), (other, 5)):
        amounts = UsageRecord.objects.filter(organization=organization).values_list("amount_nano", flat=True)
        assert list(amounts) == [2 * CENT] * records
        check_books(organization)


def test_what_cannot_be_written_before_the_end_is_told_to_the_log_and_lost(key, caplog):
    organization = Organization.objects.get()

    class Gone(Database):
        async def ask(self, statement, values):
            if "settle" in statement:
                raise Away("gone", sent=False)
            return await super().ask(statement, values)

    async def scene():
        async with opened(patience_s=0.1) as till:
            till._writer._database = Gone()
            for _ in range(3):
                with await admit(till, key) as meter:
                    meter.report(USED)

    asyncio.run(scene())
    assert caplog.text.count("not settled before the end") == 3
    assert key.secret not in caplog.text
    assert reap(31) == 3
    check_books(organization)
    assert balances.get(organization.pk).balance_nano == 10_000 * CENT
