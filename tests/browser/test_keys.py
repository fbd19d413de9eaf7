"""The key pages: made once, copied, limited, rotated, revoked by name; members are told whom to ask."""

import re

from playwright.sync_api import Page, expect

from accounts.models import Organization
from accounts.services import keys
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.watch import Watch
from tests.factories import add_member, make_key, make_user


def test_owner_makes_copies_rotates_and_revokes_a_key(owner: Page, watch: Watch) -> None:
    owner.context.grant_permissions(["clipboard-read", "clipboard-write"])
    owner.goto("/keys")
    expect(owner.get_by_role("heading", name="Create your first key")).to_be_visible()
    owner.get_by_label("Name").fill("nightly import")
    owner.get_by_text("Limits: scopes").click()
    owner.get_by_label("Dollars a month").fill("20")
    assert_accessible(owner)
    owner.get_by_role("button", name="Create key").click()

    secret = owner.locator("#secret").inner_text()
    owner.get_by_role("button", name="Copy key").click()
    expect(owner.get_by_role("button", name="Copied")).to_be_visible()
    assert owner.evaluate("navigator.clipboard.readText()") == secret
    assert keys.authenticate(f"Bearer {secret}")
    owner.get_by_role("radio", name="Python").check()
    expect(owner.locator("#python")).to_contain_text(secret)
    expect(owner.locator("#curl")).to_be_hidden()
    assert_accessible(owner)

    owner.get_by_role("link", name="I have copied it").click()
    expect(owner.get_by_text("of $20.00 a month")).to_be_visible()
    assert secret not in owner.content()
    assert_accessible(owner)
    owner.get_by_role("link", name="Rotate nightly import").click()
    assert_accessible(owner)
    owner.get_by_role("button", name="Rotate").click()
    assert owner.locator("#secret").inner_text() != secret

    owner.goto("/keys")
    owner.get_by_role("link", name="Revoke nightly import").click()
    owner.get_by_label("to confirm").fill("nightly")
    owner.get_by_role("button", name="Revoke the key").click()
    expect(owner.get_by_text("Nothing is revoked")).to_be_visible()
    watch.expect("status of 400")
    assert_accessible(owner)
    owner.get_by_label("to confirm").fill("nightly import")
    owner.get_by_role("button", name="Revoke the key").click()
    expect(owner.get_by_text("is revoked. Requests with it")).to_be_visible()


def test_without_javascript_on_a_phone_a_key_is_made_and_a_member_learns_whom_to_ask(
    open_page: OpenPage, acme: Organization
) -> None:
    make_key(acme, name="a key with a name that is long enough to need a second line on a phone")
    page = open_page(make_user("ada"), phone=True, javascript=False)
    page.goto("/keys")
    assert_fits(page)
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#secret")).to_have_text(re.compile("^sk-"))
    assert_fits(page)
    reader = open_page(add_member(acme, "joan"))
    reader.goto("/keys")
    expect(reader.get_by_text("Ask ada@example.com for one of your own")).to_be_visible()
    expect(reader.get_by_role("link", name=re.compile("^(Change|Rotate|Revoke) "))).to_have_count(0)
    assert_accessible(reader)
