"""The webhook pages: endpoints and what became of each delivery, which moves while it is looked at."""

from playwright.sync_api import Page, expect

from accounts.models import Organization
from jobs.models import WebhookDelivery
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.console import scenes
from tests.factories import make_user


def test_owner_follows_a_delivery_until_it_rests(owner: Page, acme: Organization) -> None:
    endpoint = scenes.endpoint(acme, description="Orders")
    scenes.delivery(endpoint, statuses=(500, 200))
    owner.goto("/webhooks")
    for language in ("Python", "Node", "Shell", "curl"):
        owner.get_by_role("radio", name=language).check()
        expect(owner.get_by_role("region", name=language)).to_be_visible()
    assert_accessible(owner)
    owner.get_by_role("link", name="Deliveries of").click()
    assert_accessible(owner)
    owner.get_by_role("button", name="Send a test").click()
    expect(owner.get_by_role("heading", name="Not sent yet")).to_be_visible()
    assert_accessible(owner)
    log = owner.context.new_page()
    log.goto(f"/webhooks/{endpoint.pk}")
    row = log.get_by_role("row").nth(1)
    expect(row).to_contain_text("Pending")
    WebhookDelivery.objects.update(state="delivered")
    expect(row).to_contain_text("Delivered")
    expect(owner.get_by_role("status").filter(has_text="Delivered")).to_be_visible()
    owner.goto(f"/webhooks/{endpoint.pk}/rotate")
    owner.get_by_role("button", name="Rotate").click()
    assert_accessible(owner)


def test_pages_read_without_javascript_on_a_phone(open_page: OpenPage, acme: Organization) -> None:
    endpoint = scenes.endpoint(acme, description="Orders")
    delivery = scenes.delivery(endpoint, statuses=(500, 200))
    page = open_page(make_user("ada"), phone=True, javascript=False)
    for path in ("/webhooks", f"/webhooks/{endpoint.pk}", f"/webhooks/deliveries/{delivery.pk}"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert_fits(page)
    page.goto(f"/webhooks/{endpoint.pk}/delete")
    page.get_by_role("button", name="Delete the endpoint").click()
    expect(page.get_by_text("The endpoint is deleted")).to_be_visible()
