"""Who may run a realtime request: the order of refusals, what is held, and nothing that a cache could let through."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from accounts.models import ApiKey, Organization
from accounts.plans import PlanTerms
from accounts.services import freezes, keys, organizations, plans
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import (
    AnexError,
    Forbidden,
    InsufficientQuota,
    NotServed,
    PaymentRequired,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from billing.models import Account, Hold, KeySpend, UsageRecord
from tests.factories import actor_of, grant_credits, make_key, make_organization, make_user
from tests.realtime.tills import CARD, CENT, FIVE_CENTS, MOST, USED, admit, check_books, in_django, opened, with_till

pytestmark = pytest.mark.django_db(transaction=True)

STAFF = {"actor": system("tests"), "reason": "a test"}


def refusal(key, **changes):
    """The error that one request is refused with."""

    async def scene(till):
        with pytest.raises(AnexError) as refused:
            await admit(till, key, **changes)
        return refused.value

    return with_till(scene)


def test_admitted_request_holds_the_most_it_can_cost_until_it_is_settled(db):
    key = make_key()
    organization = Organization.objects.get()
    grant_credits(organization, 20)
    limited = make_key(organization, daily_ceiling_cents=10)

    async def scene(till):
        meter = await admit(till, limited)
        held = await in_django(lambda: Account.objects.get(organization=organization))
        assert (held.held_nano, held.in_flight) == (FIVE_CENTS, 1)
        spend = await in_django(lambda: KeySpend.objects.get(pk=limited.caller.key_id))
        assert spend.day_nano == FIVE_CENTS
        with meter:
            pass
        return meter.admitted

    admitted = with_till(scene)
    assert (admitted.caller.key_id, admitted.caller.organization_id) == (limited.caller.key_id, organization.pk)
    assert admitted.hold_nano == FIVE_CENTS
    assert ApiKey.objects.get(pk=limited.caller.key_id).last_used_at
    assert ApiKey.objects.get(pk=key.caller.key_id).last_used_at is None
    check_books(organization)


@pytest.mark.parametrize("header", [None, "Bearer", "Basic x", "Bearer sk-abcdefghijkl", "Bearer nonsense"])
def test_header_without_a_key_is_refused_before_the_database_is_asked(header):
    async def scene(till):
        with pytest.raises(Unauthenticated):
            await till.admit(header, surface="chat", card=CARD, most=MOST)

    with_till(scene)


def test_refusals_come_in_the_documented_order(db):
    organization = make_organization()
    key = make_key(
        organization,
        scopes=frozenset({"batch:read"}),
        models=frozenset({"other"}),
        daily_ceiling_cents=4,
    )
    plan = plans.create(terms=PlanTerms("small", "Small", frozenset({"batch"})), **STAFF)
    plans.give(organization_id=organization.pk, plan_id=plan.pk, **STAFF)
    organizations.limit_in_flight(organization_id=organization.pk, limit=1, **STAFF)
    organizations.suspend(organization_id=organization.pk, **STAFF)
    freezes.switch(surface="realtime", frozen=True, **STAFF)
    row = ApiKey.objects.filter(pk=key.caller.key_id)
    row.update(revoked_at=clock.now())

    assert isinstance(refusal(key), Unauthenticated)
    row.update(revoked_at=None)
    assert refusal(key).code == "org_suspended"
    organizations.resume(organization_id=organization.pk, **STAFF)
    frozen = refusal(key)
    assert (type(frozen), frozen.code, frozen.retry_after) == (Unavailable, "frozen", 60)
    assert frozen.message == f"The realtime API is frozen for maintenance: {STAFF['reason']}. Send this again later."
    freezes.switch(surface="realtime", frozen=False, **STAFF)
    scope = refusal(key)
    assert (scope.code, scope.extra["required"]) == ("missing_scope", "text:write")
    row.update(scopes=["text:write"])
    assert (refusal(key).code, refusal(key).status) == ("plan_has_no_chat", 403)
    plans.give(organization_id=organization.pk, plan_id=None, **STAFF)
    assert refusal(key).extra["allowed_models"] == ["other"]
    row.update(allowed_models=None)
    poor = refusal(key)
    assert isinstance(poor, PaymentRequired)
    assert "needs $0.05 and $0.00 is available" in poor.message
    grant_credits(organization, 100)
    ceiling = refusal(key)
    assert (type(ceiling), ceiling.code) == (InsufficientQuota, "key_credit_ceiling")
    assert (ceiling.extra["ceiling"], ceiling.extra["spent"], ceiling.retry_after) == (4, 0, None)
    row.update(daily_ceiling_cents=None)

    async def scene(till):
        with await admit(till, key), pytest.raises(TooManyRequests) as full:
            await admit(till, key)
        return full.value

    assert with_till(scene).retry_after == 1
    check_books(organization)


def test_model_without_a_realtime_price_is_not_served():
    card = CARD.__class__(model="m", starts_at=CARD.starts_at, text=CARD.text)
    assert isinstance(refusal(make_key(), card=card), NotServed)


def test_surfaces_ask_for_their_own_scopes(db):
    key = make_key(scopes=frozenset({"embeddings:write"}))
    grant_credits(Organization.objects.get())

    async def scene(till):
        with await admit(till, key, surface="embeddings"):
            pass
        for surface, scope in (("chat", "text:write"), ("responses", "text:write"), ("decisions", "decisions:write")):
            with pytest.raises(Forbidden) as refused:
                await admit(till, key, surface=surface)
            assert refused.value.extra["required"] == scope

    with_till(scene)
    assert UsageRecord.objects.get().surface == "embeddings"


def test_rotated_key_works_in_its_overlap_and_revoking_is_in_force_at_once(db, monkeypatch):
    key = make_key()
    organization = Organization.objects.get()
    grant_credits(organization)
    named = {"organization_id": organization.pk, "key_id": key.caller.key_id, "actor": actor_of(make_user())}
    new = keys.rotate(overlap=timedelta(hours=1), **named)

    async def scene(till):
        for secret in (key.secret, new.secret):
            with await till.admit(f"Bearer {secret}", surface="chat", card=CARD, most=MOST):
                pass
        wrong = key.secret[:-1] + ("a" if key.secret[-1] != "a" else "b")
        with pytest.raises(Unauthenticated):
            await till.admit(f"Bearer {wrong}", surface="chat", card=CARD, most=MOST)
        later = clock.now() + timedelta(hours=1)
        monkeypatch.setattr(clock, "now", lambda: later)
        with pytest.raises(Unauthenticated):
            await admit(till, key)
        await in_django(keys.revoke, **named)
        with pytest.raises(Unauthenticated):
            await till.admit(f"Bearer {new.secret}", surface="chat", card=CARD, most=MOST)

    with_till(scene)


def test_expired_key_is_refused(db, monkeypatch):
    key = make_key(expires_at=clock.now() + timedelta(days=1))
    later = clock.now() + timedelta(days=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert isinstance(refusal(key), Unauthenticated)


def test_two_hundred_at_once_on_a_balance_for_one_admit_one(db):
    key = make_key()
    organization = Organization.objects.get()
    grant_credits(organization, 9)

    async def scene():
        async with opened() as one, opened() as other:
            answers = await asyncio.gather(
                *(admit(till, key) for till in (one, other) for _ in range(100)), return_exceptions=True
            )
            assert [type(answer) for answer in answers].count(PaymentRequired) == 199
            await in_django(check_books, organization, open_holds=1)

    asyncio.run(scene())
    check_books(organization)


@pytest.mark.parametrize("limit", [None, 64])
def test_a_thousand_at_once_over_two_processes_and_keys_never_pass_the_limit(db, limit):
    organization = make_organization()
    pair = make_key(organization), make_key(organization, name="other")
    grant_credits(organization, 100_000)
    if limit:
        organizations.limit_in_flight(organization_id=organization.pk, limit=limit, **STAFF)

    async def scene():
        async with opened() as one, opened() as other:
            answers = await asyncio.gather(
                *(admit(till, key) for till in (one, other) for key in pair for _ in range(250)),
                return_exceptions=True,
            )
            refused = [answer for answer in answers if isinstance(answer, TooManyRequests)]
            assert len(refused) == 1000 - (limit or 8)
            await in_django(check_books, organization, open_holds=limit or 8)

    asyncio.run(scene())
    check_books(organization)


def test_ceiling_counts_requests_of_one_statement_together(db):
    organization = make_organization()
    key = make_key(organization, weekly_ceiling_cents=16)
    grant_credits(organization)

    async def scene(till):
        answers = await asyncio.gather(*(admit(till, key) for _ in range(7)), return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, InsufficientQuota)]
        assert len(refused) == 4
        assert {answer.extra["spent"] for answer in refused} == {15}

    with_till(scene)
    check_books(organization)


def test_a_slot_is_there_for_whoever_asks_right_after_an_answer(db):
    key = make_key()
    organization = Organization.objects.get()
    grant_credits(organization)

    async def worker(till):
        for _ in range(10):
            with await admit(till, key) as meter:
                meter.report(USED)
                await meter.finish()

    async def scene():
        async with opened() as one, opened() as other:
            await asyncio.gather(*(worker(till) for till in (one, other) for _ in range(4)))

    asyncio.run(scene())
    assert UsageRecord.objects.count() == 80
    check_books(organization)


def test_model_limit_refuses_at_once_and_frees_its_places(db):
    key = make_key()
    grant_credits(Organization.objects.get())

    async def scene(till):
        with await admit(till, key, model_limit=1), pytest.raises(TooManyRequests, match="at once"):
            await admit(till, key, model_limit=1)
        with await admit(till, key, model_limit=1):
            pass

    with_till(scene)


def test_full_model_says_so_to_nobody_whose_key_is_wrong(db):
    """Nor does one who is refused take a place meanwhile."""
    key = make_key()
    grant_credits(Organization.objects.get())
    stranger = f"Bearer sk-{'x' * 52}"

    async def scene(till):
        strangers = [asyncio.create_task(till.admit(stranger, surface="chat", card=CARD, most=MOST, model_limit=1))]
        await asyncio.sleep(0)
        with await admit(till, key, model_limit=1):
            strangers.append(
                asyncio.create_task(till.admit(stranger, surface="chat", card=CARD, most=MOST, model_limit=1))
            )
            errors = await asyncio.gather(*strangers, return_exceptions=True)
        assert [type(error) for error in errors] == [Unauthenticated, Unauthenticated]

    with_till(scene)


def test_model_limit_holds_over_all_processes_and_organizations(db):
    theirs = [make_key(make_organization(name)) for name in ("Acme", "Globex", "Initech")]
    for organization in Organization.objects.all():
        grant_credits(organization)
    most, seen = 3, Counter()

    async def one(till, key):
        try:
            with await admit(till, key, model_limit=most) as meter:
                seen["running"] += 1
                seen["peak"] = max(seen["peak"], seen["running"])
                await asyncio.sleep(0.003)
                seen["running"] -= 1
                await meter.finish()
            seen["answered"] += 1
        except TooManyRequests as error:
            assert "3 requests at once" in error.message
            seen["refused"] += 1

    async def scene():
        async with opened() as first, opened() as second:
            for _ in range(15):
                await asyncio.gather(*(one(till, key) for till in (first, second) for key in theirs))
            meters = [await admit(till, theirs[0], model_limit=most) for till in (first, second, first)]
            with pytest.raises(TooManyRequests, match="at once"):
                await admit(second, theirs[1], model_limit=most)
            with await admit(second, theirs[1]):
                pass
            for meter in meters:
                meter.end("answered")

    asyncio.run(scene())
    assert seen["peak"] == most
    assert seen["answered"] > 15
    assert seen["answered"] + seen["refused"] == 90
    for organization in Organization.objects.all():
        check_books(organization)


def test_client_that_leaves_while_it_is_admitted_leaves_no_hold(db):
    key = make_key()
    organization = Organization.objects.get()
    grant_credits(organization)

    async def scene(till):
        for steps in range(12):
            task = asyncio.create_task(admit(till, key))
            for _ in range(steps):
                await asyncio.sleep(0.0005)
            task.cancel()
            done = await asyncio.gather(task, return_exceptions=True)
            if not isinstance(done[0], asyncio.CancelledError):
                done[0].end("left")

    with_till(scene)
    check_books(organization)
    assert not Hold.objects.exclude(captured_nano=0).exists()


def test_credit_limit_is_spent_like_a_balance(db):
    key = make_key()
    Account.objects.update_or_create(organization=Organization.objects.get(), defaults={"credit_limit_nano": 6 * CENT})

    async def scene(till):
        with await admit(till, key):
            with pytest.raises(PaymentRequired) as refused:
                await admit(till, key)
            return refused.value.code

    assert with_till(scene) == "credit_limit_reached"
