"""Signing in and what is a person's own, in a browser."""

import pytest
from playwright.sync_api import Page, expect

from accounts.services import people
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.site import Site
from tests.factories import PASSWORD, make_user

NEW = "violet-river-9 harbour"


@pytest.mark.parametrize("javascript", [True, False])
def test_a_person_signs_up_confirms_signs_out_and_in(open_page: OpenPage, site: Site, javascript: bool) -> None:
    page, address = open_page(javascript=javascript), f"joan-{javascript}@example.com".lower()
    page.goto("/accounts/signup/")
    page.get_by_label("Email").fill(address)
    for field in ("Password", "Password (again)"):
        page.get_by_label(field, exact=True).fill(NEW)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm your address")
    page.goto(site.link_to(address))
    page.get_by_role("button", name="Yes, confirm it").click()
    if "/accounts/login/" in page.url:
        page.get_by_label("Email").fill(address)
        page.get_by_label("Password", exact=True).fill(NEW)
        page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/dashboard")


def test_sign_in_pages_are_accessible_and_fit_a_phone(open_page: OpenPage, site: Site) -> None:
    make_user("ada")
    page = open_page(phone=True)
    for path in (
        "/accounts/login/",
        "/accounts/signup/",
        "/accounts/password/reset/",
        "/accounts/password/reset/done/",
    ):
        page.goto(path)
        assert_accessible(page)
        assert_fits(page)
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill("ada@example.com")
    page.get_by_label("Password", exact=True).fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert_accessible(page)


def test_account_pages_are_accessible_and_fit_a_phone(open_page: OpenPage, acme: object) -> None:
    ada = make_user("ada")
    people.verify_address(user_id=ada.pk)
    page = open_page(ada, phone=True)
    page.goto("/accounts/reauthenticate/?next=/accounts/2fa/totp/activate/")
    assert_accessible(page)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url("**/totp/activate/")
    paths = [
        f"/accounts/{path}/" for path in ("email", "password/change", "2fa", "2fa/webauthn/add", "sessions", "logout")
    ]
    for path in ("/accounts/2fa/totp/activate/", *paths):
        page.goto(path)
        assert_accessible(page)
        assert_fits(page)


def test_a_passkey_is_added_signs_in_and_is_removed(owner: Page) -> None:
    people.verify_address(user_id=make_user("ada").pk)
    devtools = owner.context.new_cdp_session(owner)
    devtools.send("WebAuthn.enable")
    device = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    options = device | {"isUserVerified": True, "automaticPresenceSimulation": True}
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    owner.goto("/accounts/reauthenticate/?next=/accounts/2fa/webauthn/add/")
    owner.get_by_label("Password").fill(PASSWORD)
    owner.get_by_role("button", name="Confirm").click()
    owner.wait_for_url("**/webauthn/add/")
    owner.get_by_label("Passwordless").check()
    owner.get_by_role("button", name="Add").click()
    owner.wait_for_url(lambda url: "/add/" not in url)
    owner.goto("/accounts/2fa/webauthn/")
    assert_accessible(owner)
    owner.goto("/accounts/2fa/recovery-codes/")
    assert_accessible(owner)
    owner.context.clear_cookies()
    owner.goto("/accounts/login/")
    owner.get_by_role("button", name="Sign in with a passkey").click()
    owner.wait_for_url("**/dashboard")
