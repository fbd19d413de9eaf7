"""The docs as a visitor uses them: reading, searching, copying, choosing a language, counting a price."""

import re

import pytest
from playwright.sync_api import Page, expect

from anex.core.actors import system
from inference.backends import registry
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits

KINDS = (
    "/",
    "/docs",
    "/docs/quickstart",
    "/docs/limits",
    "/docs/search?q=limits",
    "/models/laya",
    "/pricing",
    "/terms",
)


@pytest.fixture
def offered(site: object) -> None:
    for model in ("scripted", "scripted-embed", "scripted-decide"):
        registry.configure(
            model_id=model, base_url="http://127.0.0.1:9/v1", served_name=model, concurrency=1, actor=system("test")
        )


def test_every_kind_of_page_can_be_read_by_everybody(visitor: Page, open_page: OpenPage, offered: None) -> None:
    phone = open_page(None, phone=True, javascript=False)
    for path in KINDS:
        visitor.goto(path)
        assert_accessible(visitor)
        phone.goto(path)
        expect(phone.get_by_role("heading", level=1)).to_be_visible()
        assert_fits(phone)


def test_search_finds_a_section_while_one_types(visitor: Page, offered: None) -> None:
    visitor.goto("/docs")
    visitor.keyboard.press("/")
    box = visitor.get_by_role("searchbox", name="Search the docs")
    expect(box).to_be_focused()
    box.press_sequentially("check the signature")
    found = visitor.get_by_role("link", name="Check the signature")
    expect(found).to_be_visible()
    expect(visitor.get_by_text("sections found").or_(visitor.get_by_text("1 section found"))).to_be_attached()
    assert_accessible(visitor)
    visitor.keyboard.press("ArrowDown")
    expect(found).to_be_focused()
    visitor.keyboard.press("Escape")
    expect(found).to_be_hidden()
    box.press("Enter")
    visitor.wait_for_url("**/docs/search?q=check+the+signature")
    visitor.get_by_role("main").get_by_role("link", name="Check the signature").click()
    expect(visitor).to_have_url(re.compile(r"/docs/webhooks#check-the-signature$"))


def test_language_is_kept_and_a_sample_is_copied(visitor: Page, offered: None) -> None:
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.goto("/docs/quickstart")
    visitor.get_by_role("radio", name="Python").first.check()
    assert visitor.get_by_role("radio", name="Python").nth(1).is_checked()
    visitor.goto("/docs/realtime")
    assert visitor.get_by_role("radio", name="Python").first.is_checked()
    shown = visitor.locator(".doc-tabs pre:visible").first
    expect(shown).to_contain_text("import requests")
    copy = visitor.locator(".doc-tabs .doc-copy:visible").first
    copy.click()
    expect(copy).to_have_text("Copied")
    assert visitor.evaluate("navigator.clipboard.readText()") == shown.inner_text().strip()


def test_price_is_counted_in_place_and_without_javascript(visitor: Page, open_page: OpenPage, offered: None) -> None:
    for page in (visitor, open_page(None, javascript=False)):
        page.goto("/pricing")
        page.get_by_label("Model", exact=True).select_option("scripted")
        page.get_by_label("Rows", exact=True).fill("2000000")
        page.get_by_role("button", name="Count and price").click()
        expect(page.get_by_role("heading", name="2,000,000 rows on scripted")).to_be_visible()
        expect(page.get_by_role("row", name="within an hour")).to_be_visible()
    assert_accessible(visitor)
    visitor.get_by_label("Images of a row").fill("1")
    visitor.get_by_role("button", name="Count and price").click()
    expect(visitor.get_by_role("alert")).to_contain_text("takes no image")


def test_api_can_be_tried_without_asking_another_host(visitor: Page, offered: None) -> None:
    visitor.goto("/docs/api/try")
    expect(visitor.get_by_text("createJob").or_(visitor.get_by_text("Submit a job"))).not_to_have_count(0)
