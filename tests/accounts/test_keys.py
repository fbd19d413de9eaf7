import logging
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from accounts.models import ApiKey, AuditEvent
from accounts.services import keys, organizations
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unauthenticated, Unavailable
from tests.factories import actor_of, make_key, make_organization, make_user

pytestmark = pytest.mark.django_db


def test_new_key_authenticates_as_its_organization():
    acme = make_organization()
    made = keys.create(organization_id=acme.pk, name="ci", actor=actor_of(make_user()))
    caller = keys.authenticate(f"Bearer {made.secret}")
    assert (caller.key_id, caller.organization_id) == (made.id, acme.pk)
    assert caller.actor == Actor("key", made.id)
    assert "batch:write" in caller.scopes


def test_key_has_the_documented_shape():
    key = make_key()
    assert key.secret.startswith(f"sk-{key.caller.key_id}")
    assert len(key.caller.key_id) == 12
    assert len(key.secret) >= len("sk-") + 12 + 32


def test_secret_is_kept_only_as_a_hash_and_never_shown_in_a_repr():
    acme = make_organization()
    made = keys.create(organization_id=acme.pk, name="ci", actor=actor_of(make_user()))
    row = ApiKey.objects.get(pk=made.id)
    assert row.last_four == made.secret[-4:]
    assert len(bytes(row.secret_sha256)) == 32
    assert all(made.secret[15:] not in str(value) for value in vars(row).values())
    assert made.secret not in repr(made)


def test_scheme_is_case_insensitive_and_outer_spaces_are_ignored():
    key = make_key()
    assert keys.authenticate(f"  bearer   {key.secret} ") == key.caller


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YWRhOmFkYQ==",
        "Bearer sk-",
        "Bearer sk-" + "a" * 51,
        "Bearer sk-" + "a" * 53,
        "Bearer sk-" + "é" * 52,
        "Bearer sk-" + "\x00" * 52,
        "Bearer sk-" + "a" * 52,
    ],
)
def test_malformed_or_unknown_key_is_unauthenticated(header):
    with pytest.raises(Unauthenticated):
        keys.authenticate(header)


def test_right_id_with_a_wrong_secret_is_unauthenticated():
    key = make_key()
    with pytest.raises(Unauthenticated):
        keys.authenticate(f"Bearer sk-{key.caller.key_id}{'a' * 40}")


@pytest.mark.parametrize("prefix", ["", "sk-"])
def test_key_id_sent_as_a_key_is_told_so(prefix):
    key = make_key()
    with pytest.raises(Unauthenticated, match="key id, not a key"):
        keys.authenticate(f"Bearer {prefix}{key.caller.key_id}")


def test_revoked_key_is_refused_by_the_next_request():
    key = make_key()
    keys.authenticate(key.header)
    keys.revoke(organization_id=key.caller.organization_id, key_id=key.caller.key_id, actor=actor_of(make_user()))
    with pytest.raises(Unauthenticated, match="no longer active"):
        keys.authenticate(key.header)


def test_revoking_twice_is_a_conflict():
    key = make_key()
    revoke = {
        "organization_id": key.caller.organization_id,
        "key_id": key.caller.key_id,
        "actor": actor_of(make_user()),
    }
    keys.revoke(**revoke)
    with pytest.raises(Conflict):
        keys.revoke(**revoke)


def test_key_of_another_organization_cannot_be_revoked():
    key = make_key()
    globex = make_organization("Globex")
    with pytest.raises(NotFound):
        keys.revoke(organization_id=globex.pk, key_id=key.caller.key_id, actor=actor_of(make_user("grace")))
    assert keys.authenticate(key.header) == key.caller


def test_suspended_organization_is_refused_until_it_is_resumed():
    key = make_key()
    staff = Actor("staff", "1")
    organizations.suspend(organization_id=key.caller.organization_id, actor=staff, reason="unpaid")
    with pytest.raises(Forbidden) as refused:
        keys.authenticate(key.header)
    assert refused.value.code == "org_suspended"
    organizations.resume(organization_id=key.caller.organization_id, actor=staff, reason="paid")
    assert keys.authenticate(key.header) == key.caller


def test_last_used_moves_at_most_once_a_minute(monkeypatch, django_assert_num_queries):
    key, start = make_key(), clock.now()

    def at(seconds: int) -> None:
        monkeypatch.setattr(clock, "now", lambda: start + timedelta(seconds=seconds))

    at(0)
    with django_assert_num_queries(2):
        keys.authenticate(key.header)
    at(59)
    with django_assert_num_queries(1):
        keys.authenticate(key.header)
    assert ApiKey.objects.get(pk=key.caller.key_id).last_used_at == start
    at(60)
    with django_assert_num_queries(2):
        keys.authenticate(key.header)
    assert ApiKey.objects.get(pk=key.caller.key_id).last_used_at == start + timedelta(seconds=60)


def test_database_that_is_away_is_unavailable_not_unauthenticated():
    key = make_key()

    def away(execute, sql, params, many, context):
        raise OperationalError("the connection is closed")

    with connection.execute_wrapper(away), pytest.raises(Unavailable):
        keys.authenticate(key.header)


@pytest.mark.parametrize("name", ["", "   ", "a" * 101, "a\x00b", "a\nb"])
def test_unusable_name_is_refused(name):
    acme = make_organization()
    with pytest.raises(InvalidRequest):
        keys.create(organization_id=acme.pk, name=name, actor=actor_of(make_user()))
    assert not ApiKey.objects.exists()


def test_create_and_revoke_are_audited_and_logged_without_the_secret(caplog):
    caplog.set_level(logging.DEBUG)
    key = make_key()
    keys.revoke(
        organization_id=key.caller.organization_id,
        key_id=key.caller.key_id,
        actor=actor_of(make_user()),
        reason="leaked",
    )
    events = AuditEvent.objects.filter(target=key.caller.key_id).order_by("pk").values_list("action", "reason")
    assert list(events) == [("key.create", ""), ("key.revoke", "leaked")]
    assert key.secret not in caplog.text
