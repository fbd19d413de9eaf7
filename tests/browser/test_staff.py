"""The staff area in a browser: what staff do about a customer's job, and axe on its pages."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import AuditEvent, Organization
from inference.models import Backend
from jobs.models import Job
from tests.browser.looks import THEMES, assert_fits, violations
from tests.console import scenes
from tests.factories import grant_credits, make_key

# That of its scroll bars names regions alike.
UNFOLDS_OWN = re.compile(r"landmark-unique: .*simplebar")


def assert_accessible(page: Page, path: str) -> None:
    """As everywhere; unfold asks for the theme when a page is loaded."""
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.goto(path)
        found = [line for line in violations(page, theme) if not UNFOLDS_OWN.search(line)]
        assert not found, "\n".join([f"{path} {theme}", *found])
    page.emulate_media(color_scheme="light")


@pytest.mark.slow
def test_staff_find_a_customers_job_and_fail_it(staff: Page, acme: Organization) -> None:
    grant_credits(acme, 500)
    make_key(acme)
    job = scenes.running(acme)
    staff.goto("/admin/")
    staff.get_by_role("main").get_by_role("link", name="Organizations", exact=True).click()
    staff.get_by_role("link", name="Acme").first.click()
    expect(staff.get_by_text("$5.00 available, $0.00 held")).to_be_visible()
    staff.get_by_role("main").get_by_role("link", name="Jobs", exact=True).click()
    staff.get_by_role("link", name=str(job.pk)).first.click()
    staff.get_by_role("link", name="Fail", exact=True).click()
    staff.get_by_label("Reason").fill("A disk of ours broke.")
    staff.get_by_role("button", name="Fail").click()
    expect(staff.get_by_text("Fail: done.")).to_be_visible()
    assert Job.objects.get(pk=job.pk).status == "finalizing"
    assert AuditEvent.objects.get(action="job.staff_fail").reason == "A disk of ours broke."


def test_staff_search_the_organization_whom_they_grant_credits(staff: Page, acme: Organization) -> None:
    path = "/admin/billing/account/grant-credits/"
    assert_accessible(staff, path)
    staff.get_by_role("combobox", name="Search for an organization").click()
    staff.keyboard.type("acm")
    staff.get_by_role("option", name="Acme").click()
    staff.get_by_label("Dollars").fill("5")
    staff.get_by_label("Reason").fill("welcome")
    staff.get_by_role("button", name="Grant credits").click()
    expect(staff.get_by_text("Grant credits: done for Acme.")).to_be_visible()


@pytest.mark.slow
def test_pages_of_the_staff_area_are_accessible_in_both_themes(staff: Page, acme: Organization) -> None:
    job = scenes.running(acme)
    scenes.delivery(scenes.endpoint(acme), job=job)
    server = {"model_id": scenes.MODEL, "base_url": "http://127.0.0.1:9/v1", "served_name": "small"}
    Backend.objects.create(**server, source="configured")
    of_acme = f"/admin/accounts/organization/{acme.pk}"
    for path in (
        "/admin/",
        f"{of_acme}/change/",
        f"{of_acme}/suspend/",
        "/admin/jobs/job/",
        f"/admin/jobs/job/{job.pk}/change/",
        "/admin/billing/account/grant-credits/",
        "/admin/billing/account/prices/",
        "/admin/inference/backend/model/",
        "/admin/accounts/auditevent/",
    ):
        assert_accessible(staff, path)
    staff.set_viewport_size({"width": 375, "height": 740})
    for path in ("/admin/", f"{of_acme}/change/", f"{of_acme}/suspend/"):
        staff.goto(path)
        assert_fits(staff)
