"""Somebody new signs up, adds credits, runs a job and reads the answer; with JavaScript and without."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from jobs.run.pump import Pump
from tests.browser.conftest import OpenPage
from tests.browser.site import Site
from tests.factories import PASSWORD
from tests.jobs.run.driver import chat_line

PATIENCE_MS = 90_000
ASK_AGAIN_MS = 500


@pytest.mark.slow
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "no-javascript"])
def test_a_stranger_reads_a_first_answer(
    open_page: OpenPage, site: Site, engine: Any, pump: Pump, tmp_path: Path, javascript: bool
) -> None:
    page = open_page(javascript=javascript)
    # Letters to one address are limited; the web process goes on counting after each test.
    sign_up(page, site, "hedy@example.com" if javascript else "katherine@example.com")
    add_credits(page, javascript=javascript)
    make_key(page)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f"{chat_line(f'row-{number}', f'say {number}')}\n" for number in range(3)))
    submit(page, rows, javascript=javascript)
    appear(page, page.get_by_role("button", name="Approve and run"), javascript=javascript).click()
    done = appear(page, page.get_by_role("link", name="Download result"), javascript=javascript)
    with page.expect_download() as download:
        done.click()
    lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [line["custom_id"] for line in lines] == ["row-0", "row-1", "row-2"]
    page.get_by_role("link", name="Look at the rows").click()
    page.get_by_role("link", name="row-1").click()
    answer = lines[1]["response"]["body"]["choices"][0]["message"]["content"]
    expect(page.get_by_role("main")).to_contain_text(answer)
    page.goto("/credits")
    expect(page.get_by_role("main")).to_contain_text("$24.99")


def sign_up(page: Page, site: Site, address: str) -> None:
    """An account, its address confirmed by the letter, signed in."""
    page.goto("/accounts/signup/")
    page.locator("[name=email]").fill(address)
    for field in ("password1", "password2"):
        page.locator(f"[name={field}]").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page).to_have_url(re.compile("/accounts/confirm-email/"))
    page.goto(site.link_to(address))
    page.get_by_role("button", name="Yes, confirm it").click()
    if "/accounts/login/" in page.url:
        page.locator("[name=login]").fill(address)
        page.locator("[name=password]").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url(re.compile("/dashboard$"))


def add_credits(page: Page, *, javascript: bool) -> None:
    """25 dollars, on the practice payment page."""
    page.get_by_role("main").get_by_role("link", name="Add credits").first.click()
    page.locator("[name=dollars]").first.fill("25")
    page.get_by_role("button", name="Continue to payment").click()
    page.get_by_role("button", name="Pay", exact=True).click()
    appear(page, page.get_by_role("heading", name="Paid"), javascript=javascript)


def make_key(page: Page) -> None:
    """Shown once, with a request to try it."""
    page.get_by_role("link", name="API keys").first.click()
    page.locator("[name=name]").fill("laptop of Hedy")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#secret")).to_have_text(re.compile("^sk-"))


def submit(page: Page, rows: Path, *, javascript: bool) -> None:
    """The file goes to the store: from the page itself, or from a plain form."""
    page.get_by_role("link", name="New job").first.click()
    if not javascript:
        page.get_by_role("button", name="Upload a JSONL file").click()
    page.locator("input[type=file]").set_input_files(rows)
    if not javascript:
        page.get_by_role("button", name="Upload", exact=True).click()
    page.locator("input[name=model][value=scripted]").check()
    page.locator("[data-submit]").click()
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"), timeout=PATIENCE_MS)


def appear(page: Page, awaited: Locator, *, javascript: bool) -> Locator:
    """What comes by itself, or when the page is loaded again."""
    for _ in range(0 if javascript else PATIENCE_MS // ASK_AGAIN_MS):
        if awaited.count():
            break
        page.wait_for_timeout(ASK_AGAIN_MS)
        page.reload()
    expect(awaited).to_be_visible(timeout=PATIENCE_MS)
    return awaited
