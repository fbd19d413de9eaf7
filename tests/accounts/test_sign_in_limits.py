"""What guessing costs: failed sign-ins are counted by account and by address, and answers tell nobody who has one."""

import re
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.test import Client

from tests.accounts.test_sign_in import SITE, ada, browser, moments, set_up_totp, sign_in
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db
__all__ = ["ada", "browser", "moments"]
MANY = "Too many failed"
OUTSIDE = ["https://evil.example/", "//evil.example", "/\\evil.example", "https:evil.example", "javascript:alert(1)"]


def try_from(address: str, email: str = "ada@example.com", password: str = "wrong", **more: str) -> str:
    client = Client(REMOTE_ADDR=address, **more)
    answer = sign_in(client, email, password)
    return answer.headers.get("Location", "") or answer.content.decode()


def test_an_account_is_guessed_at_five_times_wherever_from_and_others_are_not_held_up(ada):
    make_user("grace")
    for number in range(5):
        assert MANY not in try_from(f"192.0.2.{number}")
    for index in range(400):
        # What others are counted by drives no counter out.
        cache.set(f"somebody-else-{index}", [1.0], 300)
    assert MANY in try_from("192.0.2.99", password=PASSWORD)
    assert MANY in try_from("192.0.2.98", "ADA@Example.com ", PASSWORD)
    assert MANY not in try_from("192.0.2.99", "grace@example.com", PASSWORD)


@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db8:1:2::{:x}"])
def test_an_address_guesses_ten_times_whoever_it_tries_and_whatever_it_says_it_is(ada, address):
    seen = [
        try_from(address.format(number + 1), f"user{number}@example.com", HTTP_X_FORWARDED_FOR=f"10.0.0.{number}")
        for number in range(11)
    ]
    assert [MANY in answer for answer in seen] == [False] * 10 + [True]
    assert MANY in try_from(address.format(99), password=PASSWORD)
    assert try_from("203.0.113.5", password=PASSWORD) == "/dashboard"


def test_behind_a_proxy_the_address_is_what_the_proxy_saw(ada, settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    for number in range(11):
        try_from("10.0.0.1", f"user{number}@example.com", HTTP_X_FORWARDED_FOR=f"10.9.9.{number}, 198.51.100.8")
    assert MANY in try_from("10.0.0.1", password=PASSWORD, HTTP_X_FORWARDED_FOR="198.51.100.8")
    assert try_from("10.0.0.1", password=PASSWORD, HTTP_X_FORWARDED_FOR="198.51.100.9") == "/dashboard"


def test_codes_of_the_second_factor_are_guessed_few_times(ada, browser, moments):
    sign_in(browser)
    secret = set_up_totp(browser, moments)
    other = Client()
    sign_in(other)
    for _ in range(6):
        other.post("/accounts/2fa/authenticate/", {"code": "000000"}, **SITE)
    assert other.post("/accounts/2fa/authenticate/", {"code": moments(secret)}, **SITE).status_code == 200
    assert other.get("/dashboard").status_code == 302


def test_an_address_without_an_account_is_answered_alike_and_costs_as_much(ada, monkeypatch, mailoutbox):
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *args: hashed.append(1) or encode(*args))
    seen = []
    for name in ("ada", "nobody"):
        hashed.clear()
        answer = sign_in(Client(), f"{name}@example.com", "wrong")
        form = answer.context["form"]
        asked = Client().post("/accounts/password/reset/", {"email": f"{name}@example.com"}, **SITE)
        seen.append((answer.status_code, str(form.errors), len(hashed), asked.status_code, asked["Location"]))
    assert seen[0] == seen[1]
    assert [mail.to for mail in mailoutbox] == [["ada@example.com"], ["nobody@example.com"]]
    fields = {"password1": PASSWORD, "password2": PASSWORD}
    joined = [
        Client().post("/accounts/signup/", fields | {"email": f"{name}@example.com"}, **SITE) for name in ("ada", "new")
    ]
    assert {(answer.status_code, answer["Location"]) for answer in joined} == {(302, "/accounts/confirm-email/")}


def test_a_session_is_another_one_once_somebody_signed_in(ada, browser):
    browser.cookies["anex_session"] = "a" * 32
    browser.get("/accounts/login/")
    sign_in(browser)
    given = browser.cookies["anex_session"].value
    assert given != "a" * 32
    browser.post("/accounts/logout/", **SITE)
    assert browser.cookies["anex_session"].value != given
    browser.cookies["anex_session"] = given
    assert browser.get("/dashboard").status_code == 302


def test_mails_and_pages_name_no_host_that_a_request_makes_up(ada, settings, mailoutbox):
    settings.ALLOWED_HOSTS = ["anex.example"]
    for host in ("evil.example", "anex.example@evil.example", "evil.example#anex.example"):
        answer = Client(HTTP_HOST=host).post("/accounts/password/reset/", {"email": "ada@example.com"}, **SITE)
        assert answer.status_code == 400
        assert b"evil" not in answer.content
    client = Client(HTTP_HOST="anex.example", HTTP_X_FORWARDED_HOST="evil.example")
    client.post("/accounts/password/reset/", {"email": "ada@example.com"}, **SITE)
    assert "https://anex.example/accounts/password/reset/key/" in mailoutbox[-1].body
    assert "evil" not in mailoutbox[-1].body


@pytest.mark.parametrize("target", OUTSIDE)
def test_nobody_is_sent_elsewhere(ada, browser, target):
    answers = [
        browser.post("/theme", {"theme": "dark", "next": target}, **SITE),
        sign_in(browser, next=target),
        browser.get("/accounts/login/", {"next": target}, **SITE),
        browser.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": target}, **SITE),
        browser.post("/accounts/logout/", {"next": target}, **SITE),
    ]
    for answer in answers:
        where = answer.headers["Location"]
        assert answer.status_code == 302
        assert (urlsplit(where).scheme, urlsplit(where).netloc) == ("", "")
        assert where.startswith("/")
        assert where[1:2] not in ("/", "\\")


def test_an_invitation_tells_nobody_who_has_an_account(ada, browser, mailoutbox, django_capture_on_commit_callbacks):
    make_user("grace")
    sign_in(browser)
    seen = []
    for name in ("grace", "nobody"):
        fields = {"email": f"{name}@example.com", "role": "member"}
        with django_capture_on_commit_callbacks(execute=True):
            answer = browser.post("/invitations/new", fields, **SITE)
        [address] = mailoutbox[-1].to
        told = re.sub(r"/invitations/\S+", "", mailoutbox[-1].body)
        seen.append((answer.status_code, answer["Location"], told.replace(name, ""), address.replace(name, "")))
    assert seen[0] == seen[1]
