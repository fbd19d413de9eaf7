"""Nobody needs a mouse: everything is reached with Tab, in sight, and works with Enter."""

import re

from playwright.sync_api import Page, expect

from accounts.models import Organization
from accounts.services import people
from tests.console import scenes
from tests.factories import PASSWORD, grant_credits, make_user

# Name of what has the focus, and whether a person sees that it has.
FOCUS = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const name = at.getAttribute("aria-label") || at.labels?.[0]?.innerText || at.innerText || "";
  return [name.trim(), style.outlineStyle !== "none" || style.boxShadow !== "none"];
}"""
STOPS = 80


def tab_to(page: Page, name: str) -> None:
    """Press Tab until something of this name has the focus; every stop on the way is in sight."""
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        named, is_seen = page.evaluate(FOCUS)
        assert is_seen or not named, f"nobody sees that “{named}” has the focus on {page.url}"
        if named.startswith(name):
            return
    raise AssertionError(f"{name} is not reached with {STOPS} tabs on {page.url}")


def press(page: Page, name: str) -> None:
    """Reach it and press Enter."""
    tab_to(page, name)
    page.keyboard.press("Enter")


def test_a_quote_is_approved_and_a_key_made_from_the_keyboard(visitor: Page, acme: Organization) -> None:
    grant_credits(acme)
    people.verify_address(user_id=make_user("ada").pk)
    job = scenes.quoted(acme)
    visitor.goto("/accounts/login/?next=/jobs")
    visitor.locator("[name=login]").focus()
    visitor.keyboard.type("ada@example.com")
    tab_to(visitor, "Password")
    visitor.keyboard.type(PASSWORD)
    visitor.keyboard.press("Enter")
    expect(visitor).to_have_url(re.compile("/jobs$"))

    visitor.keyboard.press("Tab")
    assert visitor.evaluate(FOCUS) == ["Skip to content", True]
    visitor.keyboard.press("Enter")
    assert visitor.evaluate("document.activeElement.id") == "main"

    visitor.goto(f"/jobs/{job.pk}")
    press(visitor, "Approve and run")
    expect(visitor.get_by_text("Approved. The quote is held")).to_be_visible()

    press(visitor, "API keys")
    expect(visitor).to_have_url(re.compile("/keys$"))
    tab_to(visitor, "Name")
    visitor.keyboard.type("nightly")
    press(visitor, "Create key")
    expect(visitor.locator("#secret")).to_be_visible()
    press(visitor, "Copy")
    expect(visitor.get_by_role("button", name="Copied").first).to_be_visible()
