"""The staff area opens for staff who passed a second factor, through the console's own sign-in."""

import time

import pytest
from allauth.mfa.totp.internal import auth
from django.test import Client

from accounts.models import User
from tests.factories import PASSWORD, make_user, staff_browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def root():
    return User.objects.create_superuser("root@example.com", PASSWORD)


@pytest.fixture
def browser(root):
    client = Client()
    answer = client.post("/accounts/login/", {"login": root.email, "password": PASSWORD, "next": "/admin/"})
    assert answer["Location"] == "/admin/"
    return client


def code(secret, moment):
    return auth.format_hotp_value(auth.hotp_value(secret, int(moment) // 30))


def test_stranger_signs_in_on_the_console_page(client):
    answer = client.get("/admin/accounts/user/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/accounts/login/?next=")
    assert "Sign in" in answer.content.decode()


def test_who_is_not_staff_is_refused(client):
    client.force_login(make_user("ada"))
    assert client.get("/admin/", follow=True).status_code == 403


def test_staff_without_a_second_factor_are_sent_to_set_one_up(browser):
    answer = browser.get("/admin/accounts/user/", follow=True)
    assert answer.redirect_chain[-1][0] == "/accounts/2fa/"
    assert "needs a second factor" in answer.content.decode()
    assert browser.post("/admin/accounts/user/").status_code == 302


def test_staff_set_up_confirm_and_are_in(browser, root, monkeypatch):
    browser.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = browser.get("/accounts/2fa/totp/activate/").context["form"].secret
    now = time.time()
    browser.post("/accounts/2fa/totp/activate/", {"code": code(secret, now)})
    answer = browser.get("/admin/accounts/user/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/accounts/2fa/reauthenticate/?next=")
    monkeypatch.setattr(auth.time, "time", lambda: now + 30)
    fields = {"code": code(secret, now + 30), "next": "/admin/accounts/user/"}
    assert browser.post("/accounts/2fa/reauthenticate/", fields)["Location"] == "/admin/accounts/user/"
    assert browser.get("/admin/accounts/user/").status_code == 200

    other = Client()
    other.post("/accounts/login/", {"login": root.email, "password": PASSWORD, "next": "/admin/"})
    assert other.get("/admin/").status_code == 302
    monkeypatch.setattr(auth.time, "time", lambda: now + 60)
    assert other.post("/accounts/2fa/authenticate/", {"code": code(secret, now + 60)})["Location"] == "/admin/"
    assert other.get("/admin/").status_code == 200


def test_a_factor_that_was_removed_opens_nothing():
    client = staff_browser()
    assert client.get("/admin/").status_code == 200
    User.objects.get(email="root@example.com").authenticator_set.all().delete()
    assert client.get("/admin/", follow=True).redirect_chain[-1][0] == "/accounts/2fa/"


def test_session_of_another_person_lends_no_factor():
    client = staff_browser()
    client.force_login(make_user("clerk", is_staff=True))
    assert client.get("/admin/").status_code == 302


def test_password_and_sign_out_are_the_consoles():
    client = staff_browser()
    assert client.get("/admin/password_change/")["Location"] == "/accounts/password/change/"
    assert client.post("/admin/logout/")["Location"] == "/accounts/logout/"
