"""Rules every page keeps: it loads from this host alone, carries no inline code, and can be used by keyboard."""

import contextlib
import re

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.test import Client

from accounts.services import people
from tests.console import scenes
from tests.factories import PASSWORD, add_member, make_key, make_user, pass_second_factor

ENTRANCE = [
    "/accounts/confirm-email/",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
]
SIGNED_IN = [
    "/dashboard",
    "/jobs",
    "/jobs/new",
    "/jobs/auto-approve",
    "/keys",
    "/members",
    "/webhooks",
    "/members/leave",
    "/audit",
    "/alerts",
    "/organizations/new",
    "/credits",
    "/credits/add",
    "/usage",
    "/accounts/password/change/",
    "/accounts/email/",
    "/accounts/2fa/",
    "/accounts/sessions/",
    "/accounts/logout/",
]


PROTECTED = [
    "/accounts/2fa/totp/deactivate/",
    "/accounts/2fa/webauthn/add/",
    "/accounts/2fa/webauthn/",
    "/accounts/2fa/recovery-codes/",
    "/accounts/2fa/recovery-codes/generate/",
    "/accounts/2fa/",
    "/accounts/2fa/reauthenticate/",
    "/accounts/reauthenticate/",
]


@pytest.fixture
def guarded(acme):
    """A browser of somebody with two factors, who has just given the password again."""
    person, browser = add_member(acme, "mary"), Client()
    browser.force_login(person)
    pass_second_factor(browser, person)
    RecoveryCodes.activate(person)
    browser.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return browser


@pytest.fixture
def pages(ada, acme, client, guarded):
    """Every page in its fullest form, with its path."""
    make_key(acme)
    jobs = [scene(acme) for scene in (scenes.quoted, scenes.running, scenes.done, scenes.failed)]
    signed_in = SIGNED_IN + [f"/jobs/{job.pk}" for job in jobs]
    endpoint = scenes.endpoint(acme, description="Orders")
    delivery = scenes.delivery(endpoint, job=jobs[2])
    signed_in += [f"/webhooks/{endpoint.pk}{page}" for page in ("", "/edit", "/rotate", "/delete")]
    signed_in.append(f"/webhooks/deliveries/{delivery.pk}")
    people.verify_address(user_id=make_user("ada").pk)
    ada.post("/accounts/reauthenticate/", {"password": PASSWORD})
    signed_in.append("/accounts/2fa/totp/activate/")
    visits = [(client, ENTRANCE), (ada, signed_in), (guarded, PROTECTED)]
    return [(path, browser.get(path)) for browser, paths in visits for path in paths]


def test_no_page_carries_inline_code_or_styles_or_another_host(pages):
    for path, answer in pages:
        html = answer.content.decode()
        assert answer.status_code == 200, path
        assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", html), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", html), path
        loaded = re.findall(r"<(?:script|img|link|iframe|source|use)[^>]*?(?:src|href)=\"([^\"]*)\"", html)
        assert loaded, path
        assert all(address.startswith(("/static/", "data:image/svg+xml;")) for address in loaded), path
        assert "default-src 'self'" in answer["Content-Security-Policy"]


def test_pages_of_requests_that_no_view_sees_load_their_styles(client):
    for path, status in (("/?x=%00", 400), ("/%00", 404)):
        answer = client.get(path)
        assert (answer.status_code, "default-src 'self'" in answer["Content-Security-Policy"]) == (status, True)


def test_every_page_has_one_heading_a_language_and_a_skip_link(pages):
    for path, answer in pages:
        html = answer.content.decode()
        assert html.count("<h1") == 1, path
        assert '<html lang="en">' in html, path
        assert html.index('href="#main"') < html.index('id="main"'), path


def test_every_control_has_a_label(pages):
    for path, answer in pages:
        html = answer.content.decode()
        labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', html))
        wrapped = re.sub(r"<label[^>]*>.*?</label>", "", html, flags=re.S)
        for control in re.findall(r"<(?:input|select|textarea)[^>]*>", wrapped):
            if 'type="hidden"' not in control and "aria-label=" not in control:
                name = re.search(r' id="([^"]+)"', control)
                assert name and name.group(1) in labelled, (path, control)


@pytest.mark.parametrize("name", ["console.css", "copy.js", "times.js", "icons.svg", "mark.svg"])
def test_assets_are_served_by_this_host(client, name, db):
    with contextlib.closing(client.get(f"/static/console/{name}")) as answer:
        assert answer.status_code == 200


def test_unknown_path_is_a_page_with_a_way_back(client, db):
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert "Back to the console" in answer.content.decode()


def test_sign_in_names_what_is_wrong_beside_the_form(client, db):
    answer = client.post("/accounts/login/", {"login": "ada@example.com", "password": "wrong"})
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()


@pytest.mark.parametrize("path", ["/dashboard", "/accounts/email/", "/accounts/sessions/"])
def test_navigation_is_the_same_on_every_page_and_holds_what_the_role_may(ada, acme, path):
    person, member = add_member(acme, "mary"), Client()
    member.force_login(person)
    owner, member = ada.get(path).content.decode(), member.get(path).content.decode()
    assert all(f'href="{link}"' in owner for link in ("/webhooks", "/audit", "/alerts", "/docs"))
    assert acme.name in owner
    assert acme.name in member
    assert 'href="/webhooks"' not in member
    assert 'href="/audit"' not in member


def test_name_of_a_key_is_asked_for_in_sight(ada):
    assert 'class="sr-only" for="id_name"' not in ada.get("/keys").content.decode()


@pytest.mark.parametrize("path", ["/keys", "/playground", "/webhooks", "/settings", "/members", "/audit", "/jobs"])
def test_no_page_is_kept_for_who_comes_after_a_sign_out(ada, path):
    assert {"no-store", "private"} <= set(ada.get(path)["Cache-Control"].split(", "))
