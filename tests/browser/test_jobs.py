"""The life of a job in a browser: it moves by itself, with a socket and without one, and is read row by row."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Organization
from jobs.models import Job
from jobs.run.pump import Pump
from jobs.services import pauses
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.watch import Watch
from tests.console import scenes
from tests.factories import actor_of, grant_credits, make_user
from tests.jobs.run.driver import chat_line, submit
from tests.jobs.run.test_browsing import a_job, said

# Longer than a page without a socket waits, shorter than one beside a socket asks by itself.
SOON_MS = 10_000


def test_a_job_from_its_quote_to_its_rows(owner: Page, acme: Organization, engine: object, pump: Pump) -> None:
    grant_credits(acme)
    lines = [chat_line(f"row-{row}", f"say {row}") for row in range(120)]
    job = submit(acme, "\n".join(lines).encode(), created_by=str(actor_of(make_user("ada"))))
    owner.goto(f"/jobs/{job.pk}")
    owner.get_by_role("button", name="Approve and run").click(timeout=60_000)
    expect(owner.get_by_text("Approved. The quote is held")).to_be_visible()
    expect(owner.get_by_role("link", name="Download result")).to_be_visible(timeout=60_000)
    expect(owner.get_by_text("ada@example.com approved the quote")).to_be_visible()
    assert_accessible(owner)
    owner.get_by_role("link", name="Look at the rows").click()
    expect(owner.get_by_role("link", name=re.compile(r"^row-\d+$"))).to_have_count(100)
    assert_accessible(owner)
    owner.get_by_role("link", name="Next rows").click()
    expect(owner.get_by_role("link", name=re.compile(r"^row-\d+$"))).to_have_count(20)
    owner.get_by_label("custom_id begins with").fill("row-77")
    owner.keyboard.press("Enter")
    owner.get_by_role("link", name="row-77").click()
    expect(owner.get_by_role("heading", level=1)).to_have_text("Row 78")
    expect(owner.locator("#asked-json")).to_contain_text("say 77")
    assert_accessible(owner)


def test_deleting_the_data_names_what_is_lost_and_leaves_a_page_that_says_so(
    owner: Page, acme: Organization, watch: Watch
) -> None:
    job = a_job(acme, [{0: said(0, "yes")}], status="done", **scenes.QUOTED | scenes.COUNTED | scenes.DELIVERED)
    Job.objects.filter(pk=job.pk).update(approved_at=job.created_at, finished_at=job.created_at)
    owner.goto(f"/jobs/{job.pk}")
    owner.get_by_role("link", name="Delete data").click()
    assert_accessible(owner)
    owner.get_by_role("button", name="Delete the data").click()
    expect(owner.get_by_text("The result was deleted on")).to_be_visible()
    watch.expect("status of 410")
    owner.goto(f"/jobs/{job.pk}/results")
    expect(owner.get_by_role("heading", level=1)).to_have_text("These rows are deleted")
    assert_accessible(owner)


@pytest.mark.parametrize("way", ["socket", "asking"])
def test_a_page_moves_by_itself(owner: Page, acme: Organization, way: str) -> None:
    job, sockets = scenes.running(acme), list[str]()
    if way == "asking":
        owner.route_web_socket(re.compile("/live/jobs"), lambda socket: socket.close())
    else:
        owner.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sockets.append(str(frame))))
    places = {f"/jobs/{job.pk}": "#live", "/jobs": "#job-rows", "/dashboard": "#work"}
    for path, told in ((path, owner.locator(place)) for path, place in places.items()):
        Job.objects.filter(pk=job.pk).update(paused=False)
        with owner.expect_response(re.compile("/live$|/jobs$|/dashboard$")) as first:
            owner.goto(path)
        assert first.value.ok
        expect(told).to_contain_text("Running")
        if way == "socket":
            owner.wait_for_timeout(1500)
        pauses.pause(organization_id=acme.pk, job_id=job.pk, actor=actor_of(make_user("ada")))
        expect(told).to_contain_text("Paused", timeout=SOON_MS)
    assert len(sockets) >= (3 if way == "socket" else 0)


def test_change_of_status_is_said_aloud_once(owner: Page, acme: Organization) -> None:
    job = scenes.running(acme)
    owner.goto(f"/jobs/{job.pk}")
    aloud = owner.locator("[data-announce]")
    expect(aloud).to_have_text("")
    pauses.pause(organization_id=acme.pk, job_id=job.pk, actor=actor_of(make_user("ada")))
    expect(aloud).to_have_text("Paused", timeout=SOON_MS)


def test_snippets_are_chosen_by_keyboard_and_copied(open_page: OpenPage, acme: Organization) -> None:
    page = open_page(make_user("ada"), permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/jobs/{scenes.quoted(acme).pk}")
    page.get_by_role("radio", name="curl").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#poll-python")).to_be_visible()
    expect(page.locator("#poll-curl")).to_be_hidden()
    page.locator("[data-copy='#poll-python']").click()
    expect(page.locator("[data-copy='#poll-python']")).to_have_text("Copied")
    assert "urllib.request" in page.evaluate("navigator.clipboard.readText()")


def test_without_javascript_everything_is_read_and_done(open_page: OpenPage, acme: Organization) -> None:
    grant_credits(acme)
    page, job = open_page(make_user("ada"), javascript=False), scenes.quoted(acme)
    page.goto("/jobs")
    page.get_by_label("Status").select_option("cost_ready")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name=scenes.MODEL).click()
    page.get_by_role("button", name="Approve and run").click()
    page.get_by_role("link", name="Cancel the job").click()
    expect(page.get_by_text("the other 1,200 rows are not sent")).to_be_visible()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("Cancelled. Rows already answered stay yours.")).to_be_visible()
    assert Job.objects.get(pk=job.pk).status == "cancelled"


def test_pages_of_jobs_are_accessible_and_fit_a_phone(open_page: OpenPage, acme: Organization) -> None:
    page = open_page(make_user("ada"), phone=True)
    rows = a_job(acme, [{0: said(0, "word " * 100), 1: said(1, "x" * 400)}])
    jobs = [scenes.quoted(acme), scenes.running(acme), scenes.done(acme, result_key="x"), scenes.failed(acme)]
    paths = ["/jobs", "/jobs?status=failed&model=minilm-l6-v2", *(f"/jobs/{job.pk}" for job in jobs)]
    paths += [f"/jobs/{jobs[1].pk}/cancel", f"/jobs/{rows.pk}/results", f"/jobs/{rows.pk}/results/1"]
    for path in paths:
        page.goto(path)
        assert_fits(page)
        assert_accessible(page)
