"""The credits pages: a payment that is confirmed, the ledger, automatic top-ups that fail and say so."""

import re

from playwright.sync_api import Page, expect

from accounts.models import Organization
from anex.core import clock
from billing.models import Topup
from billing.services import auto_topups
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.factories import grant_credits, make_user


def test_owner_pays_saves_the_method_and_is_told_when_it_is_declined(owner: Page) -> None:
    owner.goto("/credits")
    expect(owner.get_by_text("No transactions yet")).to_be_visible()
    assert_accessible(owner)
    owner.get_by_role("link", name="Add credits").first.click()
    owner.get_by_label("Amount in US dollars").fill("25")
    owner.get_by_label("Save this payment method").check()
    assert_accessible(owner)
    owner.get_by_role("button", name="Continue to payment").click()

    waiting = owner.context.new_page()
    waiting.goto(f"/credits/payments/{Topup.objects.get().pk}")
    expect(waiting.get_by_role("heading", name="Confirming…")).to_be_visible()
    assert_accessible(waiting)
    owner.get_by_label("declined when it is charged later").check()
    assert_accessible(owner)
    owner.get_by_role("button", name="Pay").click()
    expect(owner.get_by_text("$25.00 was added")).to_be_visible()
    expect(waiting.get_by_role("heading", name="Paid")).to_be_visible()

    owner.goto("/credits/add")
    owner.get_by_label("Top up automatically").check()
    for label, amount in [("When less than", "30"), ("Add this much", "20"), ("in a month at most", "100")]:
        owner.get_by_label(label).fill(amount)
    owner.get_by_role("button", name="Save").click()
    expect(owner.get_by_text("Automatic top-ups are on.")).to_be_visible()
    assert_accessible(owner)
    auto_topups.run(clock.now())
    owner.reload()
    expect(owner.get_by_role("alert")).to_contain_text("The card was declined.")
    owner.goto("/credits")
    expect(owner.get_by_role("cell", name="Not paid The card was declined.")).to_be_visible()
    assert_accessible(owner)


def test_ledger_is_searched_and_printed_without_javascript_on_a_phone(open_page: OpenPage, acme: Organization) -> None:
    grant_credits(acme)
    page = open_page(make_user("ada"), phone=True, javascript=False)
    page.goto("/credits")
    assert_fits(page)
    page.get_by_label("Id, or words").fill("nothing of the kind")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No line fits this filter")).to_be_visible()
    page.get_by_label("Id, or words").fill("TEST")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("1 line in all: +$100.00 added")).to_be_visible()
    page.get_by_role("link", name=re.compile(f"^{clock.now():%B %Y}$")).click()
    expect(page.get_by_role("heading", name="Statement")).to_be_visible()
    assert_fits(page)


def test_statement_and_receipt_are_accessible(owner: Page, acme: Organization) -> None:
    owner.goto("/credits/add")
    owner.get_by_role("button", name="Continue to payment").click()
    owner.get_by_role("button", name="Pay").click()
    owner.get_by_role("link", name="Receipt").click()
    expect(owner.get_by_text("$20.00")).to_be_visible()
    assert_accessible(owner)
    owner.goto(f"/credits/statements/{clock.now():%Y-%m}")
    assert_accessible(owner)
