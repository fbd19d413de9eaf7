"""Every way a request ends settles it exactly once."""

import asyncio

import pytest
from msgspec.structs import replace

from accounts.models import Organization
from anex.core.errors import InvalidRequest, Unavailable
from anex.core.usage import Usage
from billing.models import Holder, Transfer, UsageRecord
from billing.pricing import Fees, Rates
from tests.realtime.tills import (
    CARD,
    CENT,
    USED,
    admit,
    check_books,
    reap,
    with_till,
)

pytestmark = pytest.mark.django_db(transaction=True)


async def answered(meter):
    meter.report(USED)


async def refused_by_the_server(meter):
    meter.report(USED)
    raise InvalidRequest("The server says no.")


async def failed(meter):
    meter.report(USED)
    raise RuntimeError("The server died.")


async def left_while_tokens_came(meter):
    meter.report(Usage(input_tokens=100, output_tokens=3))
    meter.relay()
    raise asyncio.CancelledError


async def left_before_anything_came(meter):
    raise asyncio.CancelledError


async def answered_twice(meter):
    meter.report(USED)
    await meter.finish()
    meter.end("failed")


async def no_report(meter):
    meter.relay(10)


async def zero_report(meter):
    meter.report(Usage())
    meter.relay(10)


async def too_much_reported(meter):
    meter.report(Usage(input_tokens=10**9, cached_tokens=-1, output_tokens=10**9))


@pytest.mark.parametrize(
    ("way", "status", "cents", "tokens"),
    [
        (answered, "answered", 2, (100, 10)),
        (refused_by_the_server, "refused", 0, (0, 0)),
        (failed, "failed", 0, (0, 0)),
        (left_while_tokens_came, "left", 1.3, (100, 3)),
        (left_before_anything_came, "left", 0, (0, 0)),
        (answered_twice, "answered", 2, (100, 10)),
        (no_report, "answered", 1.01, (1, 10)),
        (zero_report, "answered", 0, (0, 0)),
        (too_much_reported, "answered", 5, (100, 40)),
    ],
)
def test_a_request_is_settled_once_by_how_it_ends(key, way, status, cents, tokens):
    async def scene(till):
        try:
            with await admit(till, key) as meter:
                await way(meter)
        except (InvalidRequest, RuntimeError, asyncio.CancelledError):
            pass

    with_till(scene)
    record = UsageRecord.objects.get()
    assert (record.status, record.amount_nano) == (status, round(cents * CENT))
    assert (record.input_tokens, record.output_tokens, record.cached_tokens) == (*tokens, 0)
    assert (record.model_id, record.surface, record.key_id) == ("scripted", "chat", key.caller.key_id)
    assert record.requests == 1
    assert record.duration_ms >= 0
    check_books(record.organization)


def test_media_are_noted_and_paid_as_sent(key):
    async def scene(till):
        most = Usage(input_tokens=100, output_tokens=40, images=2, clips=1, video_ms=1500, audio_ms=20)
        sold = replace(CARD, realtime_media=Rates(input=100_000_000_000), realtime_fees=Fees(image=5_000_000_000_000))
        with await admit(till, key, card=sold, most=most) as meter:
            meter.report(Usage(input_tokens=50))

    with_till(scene)
    record = UsageRecord.objects.get()
    assert (record.images, record.clips, record.video_ms, record.audio_ms) == (2, 1, 1500, 20)
    assert record.amount_nano == CENT // 2 + CENT


def test_what_still_runs_when_the_process_ends_is_free(key):
    async def scene(till):
        meter = await admit(till, key)
        meter.report(USED)

    with_till(scene)
    assert UsageRecord.objects.get().status == "failed"
    assert Transfer.objects.filter(kind="charge").count() == 0
    check_books(Organization.objects.get())
    assert reap(31) == 0
    assert not Holder.objects.exists()


def test_full_queue_refuses_instead_of_losing_a_bill(key):
    async def scene(till):
        till._writer._room = 2
        with await admit(till, key), await admit(till, key):
            with pytest.raises(Unavailable) as refused:
                await admit(till, key)
            assert refused.value.retry_after == 1
        while till._writer._room < 2:
            await asyncio.sleep(0.005)
        with await admit(till, key):
            pass

    with_till(scene)
    check_books(Organization.objects.get())


def test_one_that_cannot_be_settled_keeps_no_other_from_it(key, caplog):
    async def scene(till):
        bad = await admit(till, key)
        bad._reported = USED
        good = await admit(till, key)
        object.__setattr__(bad.admitted, "surface", "\0")
        bad.end("answered")
        good.report(USED)
        good.end("answered")

    with_till(scene)
    assert UsageRecord.objects.get(status="answered").amount_nano == 2 * CENT
    assert "cannot be settled" in caplog.text
