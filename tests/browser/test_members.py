"""Members, invitations and the audit record, in a browser."""

from playwright.sync_api import Page, expect

from accounts.models import Organization
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.site import Site
from tests.factories import add_member, make_user


def test_somebody_is_invited_joins_is_promoted_and_removed(
    owner: Page, open_page: OpenPage, site: Site, acme: Organization
) -> None:
    hedy = open_page(make_user("hedy"))
    owner.goto("/members")
    owner.get_by_label("E-mail address").fill("hedy@example.com")
    owner.get_by_role("button", name="Send the invitation").click()
    expect(owner.get_by_role("heading", name="Open invitations")).to_be_visible()
    assert_accessible(owner)
    hedy.goto(site.link_to("hedy@example.com"))
    assert_accessible(hedy)
    hedy.get_by_role("button", name="Accept").click()
    owner.reload()
    owner.get_by_label("Role of hedy@example.com").select_option("admin")
    owner.get_by_role("button", name="Set the role of hedy@example.com").click()
    expect(owner.get_by_text("hedy@example.com is now admin.")).to_be_visible()
    owner.get_by_role("link", name="Remove hedy@example.com").click()
    expect(owner.get_by_role("heading", level=1)).to_have_text("Remove hedy@example.com?")
    assert_accessible(owner)
    owner.get_by_role("button", name="Remove").click()
    expect(owner.get_by_text("no longer in Acme")).to_be_visible()


def test_what_was_done_is_found_by_kind_and_fits_a_phone(open_page: OpenPage, acme: Organization) -> None:
    page = open_page(make_user("ada"), phone=True, javascript=False)
    for path in ("/members", "/members/leave", "/alerts", "/jobs/auto-approve", "/audit"):
        page.goto(path)
        assert_fits(page)
    page.get_by_label("What").select_option("organization.create")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("cell", name="organization.create")).to_be_visible()
    assert_fits(page)


def test_pages_of_every_role_are_accessible(owner: Page, member: Page, acme: Organization) -> None:
    grace = add_member(acme, "grace")
    for path in ("/members/leave", f"/members/{grace.pk}/transfer", "/alerts", "/audit", "/organizations/new"):
        owner.goto(path)
        assert_accessible(owner)
    member.goto("/members")
    assert_accessible(member)


def test_a_page_that_is_not_there_or_not_allowed_leads_back(member: Page, visitor: Page, watch: object) -> None:
    watch.expect("status of 404")  # type: ignore[attr-defined]
    watch.expect("status of 403")  # type: ignore[attr-defined]
    for path, heading in (("/nowhere", "There is nothing here"), ("/audit", "You may not do this")):
        member.goto(path)
        expect(member.get_by_role("heading", level=1)).to_have_text(heading)
        assert_accessible(member)
    member.get_by_role("link", name="Back to the console").click()
    member.wait_for_url("**/dashboard")
