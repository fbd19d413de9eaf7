"""The usage page: a chart of days with tables under it, filters and presets, with and without JavaScript."""

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Organization
from tests.billing.test_usage import STAFF, consume
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.factories import grant_credits, make_key, make_user


@pytest.fixture
def consumed(acme: Organization) -> None:
    grant_credits(acme)
    key = make_key(acme)
    for place in range(12):
        actor = key.caller.actor if place % 3 else STAFF
        consume(acme, actor, f"job:{place}", 10**9 + place, model=f"model-{place % 8}", days_ago=place * 2)


def test_chart_has_its_figures_in_tables(owner: Page, consumed: None) -> None:
    owner.goto("/usage")
    expect(owner.get_by_role("img", name="Bars by day and model")).to_be_visible()
    expect(owner.get_by_role("listitem").filter(has_text="others")).to_be_visible()
    owner.get_by_text("The chart as tables").click()
    expect(owner.get_by_role("region", name="Figures by day").get_by_role("row")).to_have_count(13)
    assert_accessible(owner)
    owner.get_by_role("link", name="7d").click()
    expect(owner.get_by_role("definition").first).to_have_text("$4.00")
    owner.get_by_label("Chart by").select_option("key")
    owner.get_by_role("combobox", name="Model").select_option("model-1")
    owner.get_by_role("button", name="Show", exact=True).click()
    expect(owner.get_by_role("definition").first).to_have_text("$1.00")
    assert_accessible(owner)


def test_page_reads_without_javascript_on_a_phone(open_page: OpenPage, consumed: None) -> None:
    page = open_page(make_user("ada"), phone=True, javascript=False)
    page.goto("/usage?days=180&split=surface&figure=requests")
    expect(page.get_by_role("img", name="Bars by day and surface")).to_be_visible()
    assert_fits(page)
    page.goto("/usage?start_date=2020-01-01&end_date=2020-01-02")
    expect(page.get_by_role("heading", name="No usage in these days")).to_be_visible()
    assert_fits(page)
