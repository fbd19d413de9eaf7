"""Settings, colours and the navigation, in a browser."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.factories import make_user


def test_an_owner_renames_the_organization_and_puts_the_message_away(owner: Page) -> None:
    owner.goto("/settings")
    assert_accessible(owner)
    owner.get_by_label("Name").fill("Acme and sons")
    owner.get_by_role("button", name="Rename").click()
    expect(owner.get_by_text("Renamed.")).to_be_visible()
    assert_accessible(owner)
    owner.keyboard.press("Escape")
    expect(owner.get_by_text("Renamed.")).to_have_count(0)
    expect(owner.locator("#console-nav summary")).to_contain_text("Acme and sons")
    copy = owner.get_by_role("button", name="Copy the id")
    copy.click()
    expect(owner.get_by_role("button", name="Copied")).to_be_focused()
    expect(copy).to_be_focused()
    expect(copy.locator(".sr-only")).to_have_text("the id")


def test_colours_change_at_once_and_are_kept(owner: Page) -> None:
    owner.goto("/settings")
    html = owner.locator("html")
    with owner.expect_response("**/theme"):
        owner.get_by_role("button", name="Dark", exact=True).click()
    expect(html).to_have_attribute("data-theme", "dark")
    assert owner.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 16, 21)"
    owner.goto("/members")
    expect(html).to_have_attribute("data-theme", "dark")
    with owner.expect_response("**/theme"):
        owner.get_by_role("button", name="System", exact=True).click()
    owner.reload()
    assert html.get_attribute("data-theme") is None


def test_colours_and_navigation_work_on_a_phone_without_javascript(open_page: OpenPage, acme: object) -> None:
    page = open_page(make_user("ada"), phone=True, javascript=False)
    page.goto("/dashboard")
    assert_fits(page)
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Dark", exact=True).click()
    page.wait_for_url("**/dashboard")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    assert_fits(page)


def test_the_menu_of_a_phone_opens_and_closes_by_keyboard(open_page: OpenPage, acme: object) -> None:
    page = open_page(make_user("ada"), phone=True)
    page.goto("/settings")
    assert_accessible(page)
    page.get_by_role("button", name="Menu").press("Enter")
    expect(page.get_by_role("link", name="API keys")).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="API keys")).to_be_hidden()
    expect(page.get_by_role("button", name="Menu")).to_be_focused()
