"""What a key may do and for how long: expiry, scopes, models, rotation with an overlap."""

from datetime import timedelta

import pytest

from accounts.callers import EVERY_SCOPE
from accounts.key_options import MAX_CEILING_CENTS, KeyOptions
from accounts.models import ApiKey, AuditEvent
from accounts.services import keys
from anex.core import clock
from anex.core.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unauthenticated
from tests.factories import actor_of, make_key, make_organization, make_user

pytestmark = pytest.mark.django_db


def later(monkeypatch, **gap):
    now = clock.now() + timedelta(**gap)
    monkeypatch.setattr(clock, "now", lambda: now)


def named(key):
    return {
        "organization_id": key.caller.organization_id,
        "key_id": key.caller.key_id,
        "actor": actor_of(make_user()),
    }


def test_key_without_limits_may_do_everything():
    caller = keys.authenticate(make_key().header)
    assert (caller.scopes, caller.models) == (EVERY_SCOPE, None)


def test_expired_key_is_refused_like_a_revoked_one(monkeypatch):
    key = make_key(expires_at=clock.now() + timedelta(days=1))
    later(monkeypatch, hours=23)
    keys.authenticate(key.header)
    later(monkeypatch, hours=1)
    with pytest.raises(Unauthenticated, match="no longer active"):
        keys.authenticate(key.header)


def test_caller_carries_scopes_and_models():
    caller = keys.authenticate(make_key(scopes=frozenset({"batch:read"}), models=frozenset({"m"})).header)
    assert (caller.scopes, caller.models) == (frozenset({"batch:read"}), frozenset({"m"}))
    caller.require_scope("batch:read")
    caller.require_model("m")
    with pytest.raises(Forbidden) as refused:
        caller.require_scope("batch:write")
    assert (refused.value.extra["required"], refused.value.extra["accepted"]) == ("batch:write", ["batch:write"])
    with pytest.raises(Forbidden) as refused:
        caller.require_model("other")
    assert refused.value.extra["allowed_models"] == ["m"]


@pytest.mark.parametrize(
    ("limits", "param"),
    [
        ({"scopes": frozenset()}, "scopes"),
        ({"scopes": frozenset({"root"})}, "scopes"),
        ({"models": frozenset()}, "models"),
        ({"models": frozenset({"m" * 65})}, "models"),
        ({"models": frozenset(str(n) for n in range(101))}, "models"),
        ({"expires_at": clock.now() - timedelta(seconds=1)}, "expires_at"),
        ({"daily_ceiling_cents": 0}, "daily_ceiling_cents"),
        ({"weekly_ceiling_cents": -1}, "weekly_ceiling_cents"),
        ({"monthly_ceiling_cents": 2**64 - 1}, "monthly_ceiling_cents"),
        ({"monthly_ceiling_cents": MAX_CEILING_CENTS + 1}, "monthly_ceiling_cents"),
    ],
)
def test_limit_that_makes_no_sense_is_refused_by_name(limits, param):
    with pytest.raises(InvalidRequest) as refused:
        make_key(**limits)
    assert refused.value.param == param
    assert not ApiKey.objects.exists()


def test_change_takes_effect_with_the_next_request_and_is_audited_with_what_it_was():
    key = make_key(monthly_ceiling_cents=500)
    options = KeyOptions(scopes=frozenset({"batch:read"}), monthly_ceiling_cents=900)
    keys.change(**named(key), name="reader", options=options)
    assert keys.authenticate(key.header).scopes == {"batch:read"}
    details = AuditEvent.objects.get(action="key.change").details
    assert (details["name"], details["name_was"]) == ("reader", "test key")
    assert (details["monthly_ceiling_cents"], details["monthly_ceiling_cents_was"]) == (900, 500)
    assert "models" not in details


def test_both_secrets_work_during_the_overlap_and_the_new_one_afterwards(monkeypatch):
    key = make_key(scopes=frozenset({"batch:read"}))
    made = keys.rotate(**named(key), overlap=timedelta(hours=1))
    assert made.id == key.caller.key_id
    assert made.secret != key.secret
    assert keys.authenticate(f"Bearer {made.secret}") == keys.authenticate(key.header) == key.caller
    later(monkeypatch, hours=1)
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)
    assert keys.authenticate(f"Bearer {made.secret}") == key.caller


def test_rotation_without_an_overlap_refuses_the_former_secret_at_once():
    key = make_key()
    keys.rotate(**named(key), overlap=timedelta(0))
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)


def test_second_rotation_ends_the_first_secret():
    key = make_key()
    second = keys.rotate(**named(key), overlap=timedelta(days=7))
    third = keys.rotate(**named(key), overlap=timedelta(days=7))
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)
    assert keys.authenticate(f"Bearer {second.secret}") == keys.authenticate(f"Bearer {third.secret}")


def test_overlap_can_be_ended_early_once():
    key = make_key()
    made = keys.rotate(**named(key), overlap=timedelta(days=7))
    keys.end_overlap(**named(key))
    with pytest.raises(Unauthenticated):
        keys.authenticate(key.header)
    assert keys.authenticate(f"Bearer {made.secret}") == key.caller
    with pytest.raises(Conflict):
        keys.end_overlap(**named(key))


def test_revoking_refuses_both_secrets():
    key = make_key()
    made = keys.rotate(**named(key), overlap=timedelta(days=7))
    keys.revoke(**named(key))
    for header in (key.header, f"Bearer {made.secret}"):
        with pytest.raises(Unauthenticated):
            keys.authenticate(header)


@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), timedelta(days=31)])
def test_absurd_overlap_is_refused(overlap):
    key = make_key()
    with pytest.raises(InvalidRequest):
        keys.rotate(**named(key), overlap=overlap)
    assert keys.authenticate(key.header) == key.caller


@pytest.mark.parametrize("verb", ["change", "rotate", "end_overlap"])
def test_revoked_and_foreign_keys_cannot_be_touched(verb):
    key, globex = make_key(), make_organization("Globex")
    more = {"change": {"name": "x", "options": KeyOptions()}, "rotate": {"overlap": timedelta(0)}}.get(verb, {})
    act = getattr(keys, verb)
    with pytest.raises(NotFound):
        act(**named(key) | {"organization_id": globex.pk}, **more)
    keys.revoke(**named(key))
    with pytest.raises(Conflict):
        act(**named(key), **more)
