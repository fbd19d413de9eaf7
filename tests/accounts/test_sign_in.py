"""Signing in as people do it: mails, codes, passkeys, sessions; nothing of allauth is replaced."""

import json
import re
import time
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from allauth.usersessions.models import UserSession
from django.test import Client

from accounts.models import AuditEvent, User
from accounts.services import people
from anex.core.actors import Actor
from anex.core.errors import Conflict
from tests.accounts.passkeys import Passkey
from tests.factories import PASSWORD, make_organization, make_user

pytestmark = pytest.mark.django_db

SITE: dict[str, Any] = {"secure": True}


@pytest.fixture
def ada():
    make_organization("Acme")
    user = make_user("ada")
    people.verify_address(user_id=user.pk)
    return user


@pytest.fixture
def browser():
    return Client()


@pytest.fixture
def moments(monkeypatch):
    """Authenticator codes of ever later moments, so that no test waits for the next one."""
    start = time.time()
    step = iter(range(1, 1000))

    def code(secret):
        at = start + 30 * next(step)
        monkeypatch.setattr(auth.time, "time", lambda: at)
        return auth.format_hotp_value(auth.hotp_value(secret, int(at) // 30))

    return code


def sign_in(client, email="ada@example.com", password=PASSWORD, **more):
    return client.post("/accounts/login/", {"login": email, "password": password} | more, **SITE)


def confirm(client):
    """Give the password once more, as a page about the account's protection asks."""
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}, **SITE).status_code == 302


def set_up_totp(client, moments):
    confirm(client)
    secret = client.get("/accounts/2fa/totp/activate/", **SITE).context["form"].secret
    answer = client.post("/accounts/2fa/totp/activate/", {"code": moments(secret)}, **SITE)
    assert answer.status_code == 302
    return secret


def link(mails, part):
    return re.search(rf"https?://[^/\s]+(/accounts/{part}\S+)", mails[-1].body).group(1)


def test_new_person_confirms_the_address_before_they_come_in(browser, mailoutbox):
    fields = {"email": "hedy@example.com", "password1": PASSWORD, "password2": PASSWORD}
    assert browser.post("/accounts/signup/", fields)["Location"] == "/accounts/confirm-email/"
    assert browser.get("/dashboard").status_code == 302
    assert sign_in(browser, "hedy@example.com")["Location"] == "/accounts/confirm-email/"
    path = link(mailoutbox, "confirm-email/")
    assert browser.get(path).status_code == 200
    browser.post(path)
    assert EmailAddress.objects.get(email="hedy@example.com").verified
    assert sign_in(browser, "hedy@example.com")["Location"] == "/dashboard"


def test_sign_up_with_a_known_address_tells_the_owner_and_nobody_else(ada, browser, mailoutbox):
    fields = {"email": "ada@example.com", "password1": PASSWORD + "x", "password2": PASSWORD + "x"}
    assert browser.post("/accounts/signup/", fields)["Location"] == "/accounts/confirm-email/"
    assert User.objects.count() == 1
    assert mailoutbox[-1].to == ["ada@example.com"]


def test_lost_password_is_replaced_through_the_mail(ada, browser, mailoutbox):
    browser.post("/accounts/password/reset/", {"email": "ada@example.com"})
    page = browser.get(link(mailoutbox, "password/reset/key/"), follow=True)
    path = page.redirect_chain[-1][0]
    new = "an altogether new password"
    assert browser.post(path, {"password1": new, "password2": new})["Location"].endswith("/password/reset/key/done/")
    assert sign_in(Client(), password=new)["Location"] == "/dashboard"
    assert browser.get(link([mailoutbox[0]], "password/reset/key/"), follow=True).context.get("token_fail")


def test_authenticator_app_is_asked_for_and_each_code_works_once(ada, browser, moments):
    sign_in(browser)
    secret = set_up_totp(browser, moments)
    other = Client()
    assert sign_in(other)["Location"] == "/accounts/2fa/authenticate/"
    assert other.get("/dashboard").status_code == 302
    assert other.post("/accounts/2fa/authenticate/", {"code": "000000"}, **SITE).status_code == 200
    code = moments(secret)
    assert other.post("/accounts/2fa/authenticate/", {"code": code}, **SITE)["Location"] == "/dashboard"
    third = Client()
    sign_in(third)
    assert third.post("/accounts/2fa/authenticate/", {"code": code}, **SITE).status_code == 200
    assert third.get("/dashboard").status_code == 302


def test_recovery_code_signs_in_once(ada, browser, moments):
    sign_in(browser)
    set_up_totp(browser, moments)
    code = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()[0]
    for expected in (302, 200):
        other = Client()
        sign_in(other)
        assert other.post("/accounts/2fa/authenticate/", {"code": code}, **SITE).status_code == expected


def test_secrets_of_the_second_factor_are_encrypted_in_the_database(ada, browser, moments, settings):
    sign_in(browser)
    secret = set_up_totp(browser, moments)
    kept = json.dumps(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in kept
    assert all(code not in kept for code in Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes())
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-" * 5
    settings.SECRET_KEY_FALLBACKS = [former]
    other = Client()
    sign_in(other)
    assert other.post("/accounts/2fa/authenticate/", {"code": moments(secret)}, **SITE)["Location"] == "/dashboard"


def test_passkey_signs_in_without_a_password(ada, browser):
    sign_in(browser)
    confirm(browser)
    passkey = Passkey()
    page = browser.get("/accounts/2fa/webauthn/add/", **SITE)
    created = passkey.create(page.context["js_data"]["creation_options"])
    fields = {"name": "laptop", "passwordless": "on", "credential": json.dumps(created)}
    assert browser.post("/accounts/2fa/webauthn/add/", fields, **SITE).status_code == 302
    assert "laptop" in browser.get("/accounts/2fa/webauthn/", **SITE).content.decode()

    other = Client()
    options = other.get("/accounts/2fa/webauthn/login/", headers={"X-Requested-With": "XMLHttpRequest"}, **SITE).json()
    fields = {"credential": json.dumps(passkey.get(options["request_options"]))}
    assert other.post("/accounts/2fa/webauthn/login/", fields, **SITE)["Location"] == "/dashboard"
    assert other.get("/dashboard").status_code == 200


def test_foreign_passkey_does_not_sign_in(ada, browser):
    options = browser.get(
        "/accounts/2fa/webauthn/login/", headers={"X-Requested-With": "XMLHttpRequest"}, **SITE
    ).json()
    fields = {"credential": json.dumps(Passkey().get(options["request_options"]))}
    browser.post("/accounts/2fa/webauthn/login/", fields, **SITE)
    assert browser.get("/dashboard").status_code == 302


def test_sessions_are_listed_and_the_others_can_be_ended(ada):
    here, there = Client(headers={"User-Agent": "Here/1"}), Client(headers={"User-Agent": "There/1"})
    sign_in(here)
    sign_in(there)
    page = here.get("/accounts/sessions/").content.decode()
    assert "Here/1" in page
    assert "There/1" in page
    assert here.post("/accounts/sessions/").status_code == 302
    assert there.get("/dashboard").status_code == 302
    assert here.get("/dashboard").status_code == 200
    assert UserSession.objects.count() == 1


def test_changing_what_protects_the_account_asks_for_the_password_again(ada, browser):
    sign_in(browser)
    for path in ("totp/activate/", "webauthn/add/"):
        answer = browser.get(f"/accounts/2fa/{path}")
        assert answer["Location"].startswith("/accounts/reauthenticate/?next=")
        assert browser.get(answer["Location"]).status_code == 200
    confirm(browser)
    assert browser.get("/accounts/2fa/totp/activate/").status_code == 200


def test_wrong_passwords_are_slowed_down(ada, browser):
    answers = [sign_in(browser, password="wrong").content.decode() for _ in range(12)]
    assert "Too many failed" in answers[-1]
    assert "Too many failed" in sign_in(browser).content.decode()


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(ada, browser):
    browser.get("/accounts/login/")
    sign_in(browser)
    for name in ("anex_session", "anex_csrf"):
        cookie = browser.cookies[name]
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


@pytest.mark.django_db(transaction=True)
def test_what_protects_an_account_is_audited_in_the_persons_name(ada, browser, moments, mailoutbox):
    sign_in(browser)
    set_up_totp(browser, moments)
    browser.post("/accounts/2fa/totp/deactivate/", **SITE)
    new = "an altogether new password"
    browser.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    found = AuditEvent.objects.filter(action__startswith="person.").order_by("pk")
    assert {(event.actor_id, event.target, event.organization_id) for event in found} == {
        (str(ada.pk), f"user:{ada.pk}", None)
    }
    assert {"person.add_factor", "person.remove_factor", "person.change_password"} == {event.action for event in found}
    assert {mail.to[0] for mail in mailoutbox} == {"ada@example.com"}
    assert any("password" in mail.subject.lower() for mail in mailoutbox)


def test_removing_second_factors_ends_every_session_and_is_audited(ada, browser, moments):
    sign_in(browser)
    set_up_totp(browser, moments)
    staff = Actor("staff", "7")
    people.reset_second_factor(user_id=ada.pk, actor=staff, reason="lost the phone, showed the passport")
    assert browser.get("/dashboard").status_code == 302
    assert sign_in(Client())["Location"] == "/dashboard"
    event = AuditEvent.objects.get(action="person.reset_second_factor")
    assert (event.target, event.reason) == (f"user:{ada.pk}", "lost the phone, showed the passport")
    with pytest.raises(Conflict):
        people.reset_second_factor(user_id=ada.pk, actor=staff, reason="again")


def test_person_who_signs_up_is_told_to_open_the_mail_and_knows_who_wrote_it(browser, mailoutbox):
    fields = {"email": "hedy@example.com", "password1": PASSWORD, "password2": PASSWORD}
    html = browser.post("/accounts/signup/", fields, follow=True).content.decode()
    assert "you can start without" not in html
    assert "An e-mail to hedy@example.com is on its way." in html
    assert mailoutbox[-1].subject == "Confirm your e-mail address for Anex"
    assert "for an account on Anex" in mailoutbox[-1].body
    assert "Hello from" not in mailoutbox[-1].body


def test_single_address_offers_nothing_that_cannot_be_done(ada, browser):
    sign_in(browser)
    html = browser.get("/accounts/email/").content.decode()
    assert "ada@example.com" in html
    assert 'name="action_remove"' not in html


def test_keys_and_sessions_of_another_person_are_nobodys(ada, browser):
    grace = make_user("grace")
    theirs = Authenticator.objects.create(user=grace, type=Authenticator.Type.WEBAUTHN, data={"name": "theirs"})
    Client().force_login(grace)
    sign_in(browser)
    confirm(browser)
    for pk in (theirs.pk, 10**9):
        for method, page in (("get", "edit"), ("post", "edit"), ("get", "remove"), ("post", "remove")):
            answer = getattr(browser, method)(f"/accounts/2fa/webauthn/keys/{pk}/{page}/", {"name": "mine"}, **SITE)
            assert answer.status_code == 404, (pk, method, page)
    assert Authenticator.objects.get(pk=theirs.pk).data == {"name": "theirs"}
    before = set(UserSession.objects.filter(user=grace).values_list("session_key", flat=True))
    browser.post("/accounts/sessions/", **SITE)
    assert set(UserSession.objects.filter(user=grace).values_list("session_key", flat=True)) == before
