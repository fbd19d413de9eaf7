"""A key has its request admitted once at a time and charged once, whatever is lost on the way."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from accounts.models import Organization
from anex.core import clock
from anex.core.errors import Forbidden, InvalidRequest, TooManyRequests
from billing import request_keys
from billing.models import Account, Hold, RequestKey, Transfer, UsageRecord
from billing.request_keys import KeyTaken
from billing.services import request_keys as kept_keys
from tests.factories import make_key
from tests.realtime.tills import USED, admit, check_books, in_django, opened, reap, with_till

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/v1/chat/completions"


def under(key="a key", kind="chat", body=b"{}"):
    return {"request_key": request_keys.named(key, kind, path=PATH, body=body)}


def derived(key):
    return {"request_key": request_keys.derived(key.caller.key_id, "chat", path=PATH, body=b"{}")}


async def answer(till, key, **changes):
    with await admit(till, key, **changes) as meter:
        meter.report(USED)
        await meter.finish()
        await till._writer.written(meter.admitted.source)
    return meter


async def fail(till, key, error=RuntimeError, **changes):
    with pytest.raises(error), await admit(till, key, **changes) as meter:
        raise error("no")
    await till._writer.written(meter.admitted.source)


async def taken(till, key, **changes):
    with pytest.raises(KeyTaken) as refused:
        await admit(till, key, **changes)
    return refused.value


def charges():
    return Transfer.objects.filter(kind="charge").count()


def test_key_is_in_flight_then_settled_and_free_again_after_a_day(key, monkeypatch):
    async def scene(till):
        with await admit(till, key, **under()) as meter:
            meter.report(USED)
            standing = await taken(till, key, **under())
            assert (standing.code, standing.retry_after, standing.source) == ("in_flight", 1, meter.admitted.source)
            assert standing.extra == {"idempotency_key": request_keys.fold("a key")}
            assert (await taken(till, key, **under(body=b"[]"))).code == "idempotency_key_reused"
            with await admit(till, key, **under("another")):
                pass
            await meter.finish()
            await till._writer.written(meter.admitted.source)
        settled = await taken(till, key, **under())
        assert (settled.code, settled.retry_after) == ("key_settled", None)
        assert (await taken(till, key, **under(body=b"[]"))).code == "idempotency_key_reused"
        later = clock.now() + timedelta(hours=24, seconds=1)
        monkeypatch.setattr(clock, "now", lambda: later)
        await answer(till, key, **under())

    with_till(scene)
    assert charges() == 3


def test_hundred_at_once_under_one_key_over_two_processes_are_one_request(key):
    async def scene():
        async with opened() as one, opened() as other:
            answers = await asyncio.gather(
                *(admit(till, key, **under()) for till in (one, other) for _ in range(50)), return_exceptions=True
            )
            assert [getattr(told, "code", None) for told in answers].count("in_flight") == 99

    asyncio.run(scene())
    assert RequestKey.objects.get().source == UsageRecord.objects.get().source


def test_what_was_free_leaves_its_key_to_the_next_attempt(key):
    async def scene(till):
        await fail(till, key, **under())
        await fail(till, key, error=InvalidRequest, **under())
        with pytest.raises(asyncio.CancelledError), await admit(till, key, **under()):
            raise asyncio.CancelledError
        await asyncio.sleep(0.05)
        await answer(till, key, **under(body=b"other words"))
        assert (await taken(till, key, **under(body=b"other words"))).code == "key_settled"

    with_till(scene)
    assert (charges(), RequestKey.objects.get().tries) == (1, 4)


def test_key_of_embeddings_is_tried_eight_times(key):
    mine = under(kind="embeddings") | {"surface": "embeddings"}

    async def scene(till):
        for _ in range(request_keys.MOST_TRIES):
            await fail(till, key, **mine)
        assert (await taken(till, key, **mine)).code == "key_settled"

    with_till(scene)
    assert charges() == 0


def test_derived_key_lasts_ten_minutes_and_is_left_by_a_client_that_leaves(key, monkeypatch):
    other = make_key(Organization.objects.get(), name="other")

    async def scene(till):
        with pytest.raises(asyncio.CancelledError), await admit(till, key, **derived(key)) as meter:
            meter.report(USED)
            raise asyncio.CancelledError
        await till._writer.written(meter.admitted.source)
        await answer(till, key, **derived(key))
        await answer(till, other, **derived(other))
        assert (await taken(till, key, **derived(key))).code == "key_settled"
        later = clock.now() + timedelta(minutes=10, seconds=1)
        monkeypatch.setattr(clock, "now", lambda: later)
        await answer(till, key, **derived(key))

    with_till(scene)
    assert charges() == 4


def test_settled_key_is_told_before_an_empty_balance_and_after_a_missing_scope(key):
    organization = Organization.objects.get()
    narrow = make_key(organization, name="narrow", scopes=frozenset({"batch:read"}))

    async def scene(till):
        await answer(till, key, **under())
        await in_django(lambda: Account.objects.filter(organization=organization).update(balance_nano=0))
        assert (await taken(till, key, **under())).code == "key_settled"
        with pytest.raises(Forbidden):
            await admit(till, narrow, **under())

    with_till(scene)


def test_lost_request_leaves_its_key_and_comes_too_late_to_be_charged(key):
    """Its process was away, not dead: it settles what it answered after somebody else was answered under the key."""

    async def scene():
        async with opened() as slow, opened() as other:
            late = await admit(slow, key, **under())
            late.report(USED)
            assert await in_django(reap, 3601) == 1
            await answer(other, key, **under())
            late.end("answered")
            await slow._writer.written(late.admitted.source)
            assert (await taken(slow, key, **under())).code == "key_settled"
            return late.admitted.source

    source = asyncio.run(scene())
    assert (charges(), UsageRecord.objects.get(source=source).amount_nano) == (1, 0)
    check_books(Organization.objects.get())


def test_lost_request_that_settles_first_has_its_key(key):
    async def scene(till):
        late = await admit(till, key, **under())
        late.report(USED)
        assert await in_django(reap, 3601) == 1
        late.end("answered")
        await till._writer.written(late.admitted.source)
        assert (await taken(till, key, **under())).code == "key_settled"

    with_till(scene)
    assert charges() == 1
    check_books(Organization.objects.get())


@pytest.mark.parametrize("resent", ["before it settles", "after it settled"])
def test_admission_that_a_crash_of_the_database_lost_is_charged_once_for_its_key(key, resent):
    def crash(source):
        """As if the server had died before the admission was on its disk."""
        Hold.objects.filter(source=source).delete()
        RequestKey.objects.all().delete()
        Account.objects.filter(organization__isnull=False).update(held_nano=0, in_flight=0)

    async def scene(till):
        meter = await admit(till, key, **under())
        meter.report(USED)
        await in_django(crash, meter.admitted.source)
        if resent == "before it settles":
            await answer(till, key, **under())
        meter.end("answered")
        await till._writer.written(meter.admitted.source)
        assert (await taken(till, key, **under())).code == "key_settled"

    with_till(scene)
    assert charges() == 1


def test_refused_admission_takes_no_key(key):
    async def scene(till):
        with await admit(till, key, model_limit=1), pytest.raises(TooManyRequests):
            await admit(till, key, model_limit=1, **under())
        await answer(till, key, model_limit=1, **under())

    with_till(scene)
    assert RequestKey.objects.get().tries == 1


def test_keys_are_forgotten_when_they_no_longer_count(key):
    async def scene(till):
        await answer(till, key, **under())
        await answer(till, key, **derived(key))

    with_till(scene)
    seen = Counter()
    for hours in (1, 3, 24, 27):
        seen[hours] = kept_keys.forget(clock.now() + timedelta(hours=hours))
    assert seen == {1: 0, 3: 1, 24: 0, 27: 1}
