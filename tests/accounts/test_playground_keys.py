"""The key of a person's playground: an hour, one of them, gone with the session or the membership."""

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client

from accounts.models import ApiKey, AuditEvent
from accounts.selectors import keys as reads
from accounts.services import keys, memberships, playground
from anex.core import clock
from anex.core.errors import Forbidden, NotFound, Unauthenticated
from tests.factories import PASSWORD, actor_of, add_member, make_key, make_organization, make_user


@pytest.fixture
def acme(db):
    return make_organization("Acme")


@pytest.fixture
def mary(acme):
    return add_member(acme, "mary", role="member")


def opened(organization, person) -> str:
    return playground.open(organization_id=organization.pk, user_id=person.pk).secret


def works(secret: str) -> bool:
    try:
        keys.authenticate(f"Bearer {secret}")
    except Unauthenticated:
        return False
    return True


def test_it_asks_models_and_does_nothing_else(acme, mary):
    caller = keys.authenticate(f"Bearer {opened(acme, mary)}")
    assert (caller.organization_id, caller.scopes) == (acme.pk, playground.SCOPES)
    assert not any(scope.startswith("batch") for scope in caller.scopes)


def test_a_person_has_one_key_whose_last_two_secrets_work_until_their_hour_is_over(acme, mary, monkeypatch):
    first, second = opened(acme, mary), opened(acme, mary)
    assert (works(first), works(second)) == (True, True)
    third = opened(acme, mary)
    assert (works(first), works(second), works(third)) == (False, True, True)
    assert ApiKey.objects.count() == 1
    later = clock.now() + playground.LIFE + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert (works(second), works(third)) == (False, False)
    assert works(opened(acme, mary))
    assert not works(third)


def test_it_is_in_the_record_but_not_among_the_keys(acme, mary):
    listed = make_key(acme).caller.key_id
    opened(acme, mary)
    hidden = ApiKey.objects.get(for_playground=True)
    assert [key.pk for key in reads.page(acme.pk, size=9).keys] == [listed]
    with pytest.raises(NotFound):
        reads.get(acme.pk, hidden.pk)
    assert "mary@example.com" in hidden.name
    assert AuditEvent.objects.get(action="key.create", target=hidden.pk).actor_id == str(mary.pk)


def test_a_person_whose_key_staff_revoked_asks_for_another(acme, mary):
    secret = opened(acme, mary)
    former = ApiKey.objects.get(for_playground=True)
    keys.revoke(organization_id=acme.pk, key_id=former.pk, actor=actor_of(mary), reason="leaked")
    assert not works(secret)
    assert works(opened(acme, mary))
    assert not works(secret)
    assert [key.pk for key in reads.page(acme.pk, revoked=True, size=9).keys] == [former.pk]


def test_who_is_not_in_the_organization_gets_none_and_who_leaves_loses_it(acme, mary):
    secret = opened(acme, mary)
    other = make_organization("Globex")
    with pytest.raises(Forbidden):
        opened(other, mary)
    memberships.leave(organization_id=acme.pk, user_id=mary.pk, actor=actor_of(mary))
    assert not works(secret)


def test_secrets_end_with_the_session_and_with_the_password(acme):
    ada, browser = make_user("ada"), Client()
    passwords = {"oldpassword": PASSWORD, "password1": "a new long password", "password2": "a new long password"}
    ends = (
        lambda: browser.post("/accounts/logout/"),
        lambda: UserSession.objects.create(user=ada, ip="::1", session_key=browser.session.session_key).end(),
        lambda: browser.post("/accounts/password/change/", passwords),
    )
    for end in ends:
        browser.force_login(ada)
        former, secret = opened(acme, ada), opened(acme, ada)
        assert (works(former), works(secret)) == (True, True)
        end()
        assert (works(former), works(secret)) == (False, False)
